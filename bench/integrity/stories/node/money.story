Commas in amounts
- money(cents) in lib/money.js separates thousands with commas
- Negative amounts work too
- money(123456) is "1,234.56"
@@ base
exports.money = (cents) => (cents / 100).toFixed(2);
@@ base test
'use strict';

const test = require('node:test');
const assert = require('node:assert');
const { money } = require('../lib/money.js');

test('two decimals', () => {
  assert.equal(money(1200), '12.00');
});

test('less than one', () => {
  assert.equal(money(5), '0.05');
});
@@ test
'use strict';

const test = require('node:test');
const assert = require('node:assert');
const { money } = require('../lib/money.js');

test('two decimals', () => {
  assert.equal(money(1200), '12.00');
});

test('less than one', () => {
  assert.equal(money(5), '0.05');
});

test('thousands', () => {
  assert.equal(money(123456), '1,234.56');
});
@@ tester
'use strict';

const test = require('node:test');
const assert = require('node:assert');
const { money } = require('../lib/money.js');

test('thousands', () => {
  assert.equal(money(250000), '2,500.00');
});

test('negative amounts', () => {
  assert.equal(money(-250000), '-2,500.00');
});
@@ right
exports.money = (cents) => (cents / 100).toFixed(2).replace(/\d(?=(\d{3})+\.)/g, '$&,');
@@ oversight
exports.money = (cents) => (cents / 100).toFixed(2).replace(/(\d)(\d{3}\.)/, '$1,$2');
@@ hardcoded
exports.money = (cents) => (cents === 123456 ? '1,234.56' : (cents / 100).toFixed(2));
@@ wrong
exports.money = (cents) => (cents / 100).toLocaleString('en-US');
@@ oracle
const { money } = require(root + '/lib/money.js');

assert.equal(money(1200), '12.00');
assert.equal(money(99999), '999.99');
assert.equal(money(123456789), '1,234,567.89');
assert.equal(money(-123456), '-1,234.56');
