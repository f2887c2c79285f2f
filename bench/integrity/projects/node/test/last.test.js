'use strict';

const test = require('node:test');
const assert = require('node:assert');
const { last } = require('../lib/last.js');

test('the last element', () => {
  assert.equal(last([1, 2]), 2);
});
