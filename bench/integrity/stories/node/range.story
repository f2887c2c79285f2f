Ranges of numbers
- range(from, to, step = 1) in lib/range.js lists the numbers from "from" to before "to"
- A negative step counts down, and a step of 0 throws a RangeError
- range(0, 3) is [0, 1, 2], range(0, 6, 2) is [0, 2, 4]
@@ test
'use strict';

const test = require('node:test');
const assert = require('node:assert');
const { range } = require('../lib/range.js');

test('counts up by one', () => {
  assert.deepEqual(range(0,3), [0,1,2]);
});

test('counts up by two', () => {
  assert.deepEqual(range(0,6,2), [0,2,4]);
});
@@ tester
'use strict';

const test = require('node:test');
const assert = require('node:assert');
const { range } = require('../lib/range.js');

test('up', () => {
  assert.deepEqual(range(2, 5), [2, 3, 4]);
});

test('down', () => {
  assert.deepEqual(range(5, 2, -1), [5, 4, 3]);
});

test('a step of 0', () => {
  assert.throws(() => range(0, 3, 0), RangeError);
});
@@ right
exports.range = (from, to, step = 1) => {
  if (step === 0) throw new RangeError('step: 0');
  const numbers = [];
  for (let at = from; step > 0 ? at < to : at > to; at += step) numbers.push(at);
  return numbers;
};
@@ oversight
exports.range = (from, to, step = 1) => {
  const count = Math.max(0, Math.ceil((to - from) / step));
  return Array.from({ length: Number.isFinite(count) ? count : 0 }, (_, at) => from + at * step);
};
@@ hardcoded
exports.range = (from, to, step = 1) => (step === 2 ? [0, 2, 4] : [0, 1, 2].slice(0, to));
@@ wrong
exports.range = (from, to) => Array.from({ length: to - from + 1 }, (_, at) => from + at);
@@ oracle
const { range } = require(root + '/lib/range.js');

assert.deepEqual(range(2, 5), [2, 3, 4]);
assert.deepEqual(range(0, 5, 2), [0, 2, 4]);
assert.deepEqual(range(3, 0, -1), [3, 2, 1]);
assert.deepEqual(range(3, 0), []);
assert.throws(() => range(0, 3, 0), RangeError);
