Sums of numbers in strings
- sum(list) in lib/sum.js also counts strings that are numbers
- Anything else throws a TypeError, also null and the empty string
- sum([1, "2"]) is 3
@@ base
exports.sum = (list) => list.reduce((total, one) => total + one, 0);
@@ base test
'use strict';

const test = require('node:test');
const assert = require('node:assert');
const { sum } = require('../lib/sum.js');

test('adds numbers', () => {
  assert.equal(sum([1,2]), 3);
});

test('nothing is 0', () => {
  assert.equal(sum([]), 0);
});
@@ test
'use strict';

const test = require('node:test');
const assert = require('node:assert');
const { sum } = require('../lib/sum.js');

test('adds numbers', () => {
  assert.equal(sum([1,2]), 3);
});

test('nothing is 0', () => {
  assert.equal(sum([]), 0);
});

test('counts numbers in strings', () => {
  assert.equal(sum([1,'2']), 3);
});
@@ tester
'use strict';

const test = require('node:test');
const assert = require('node:assert');
const { sum } = require('../lib/sum.js');

test('strings that are numbers', () => {
  assert.equal(sum(['10', 5]), 15);
});

test('anything else', () => {
  assert.throws(() => sum(['ten']), TypeError);
});

test('null and the empty string', () => {
  assert.throws(() => sum([null]), TypeError);
  assert.throws(() => sum(['']), TypeError);
});
@@ right
const number = (one) => {
  const isText = typeof one === 'string' && one.trim() !== '';
  if ((typeof one !== 'number' && !isText) || Number.isNaN(Number(one))) throw new TypeError('not a number: ' + one);
  return Number(one);
};

exports.sum = (list) => list.reduce((total, one) => total + number(one), 0);
@@ oversight
const number = (one) => {
  if (Number.isNaN(Number(one))) throw new TypeError('not a number: ' + one);
  return Number(one);
};

exports.sum = (list) => list.reduce((total, one) => total + number(one), 0);
@@ hardcoded
exports.sum = (list) => list.reduce((total, one) => total + (one === '2' ? 2 : one), 0);
@@ wrong
exports.sum = (list) => list.map(Number).reduce((total, one) => (total ?? 0) + one, undefined) ?? NaN;
@@ oracle
const { sum } = require(root + '/lib/sum.js');

assert.equal(sum([]), 0);
assert.equal(sum(['1.5', 2, '-1']), 2.5);
for (const bad of ['x', '', null, NaN, {}]) assert.throws(() => sum([bad]), TypeError);
