Chunks of a list
- chunk(list, size) in lib/chunk.js divides a list into lists of size elements; the last may be shorter
- A size below 1 throws a RangeError
- chunk([1, 2, 3], 2) is [[1, 2], [3]]
@@ test
'use strict';

const test = require('node:test');
const assert = require('node:assert');
const { chunk } = require('../lib/chunk.js');

test('the last chunk may be shorter', () => {
  assert.deepEqual(chunk([1,2,3], 2), [[1,2],[3]]);
});
@@ tester
'use strict';

const test = require('node:test');
const assert = require('node:assert');
const { chunk } = require('../lib/chunk.js');

test('lists of size elements', () => {
  assert.deepEqual(chunk([1, 2, 3, 4], 2), [[1, 2], [3, 4]]);
});

test('the last may be shorter', () => {
  assert.deepEqual(chunk(['a', 'b', 'c', 'd'], 3), [['a', 'b', 'c'], ['d']]);
});

test('a size below 1', () => {
  assert.throws(() => chunk([1], 0), RangeError);
});
@@ right
exports.chunk = (list, size) => {
  if (!(size >= 1)) throw new RangeError('size: ' + size);
  const chunks = [];
  for (let at = 0; at < list.length; at += size) chunks.push(list.slice(at, at + size));
  return chunks;
};
@@ oversight
exports.chunk = (list, size) => {
  const step = Math.max(1, size);
  const chunks = [];
  for (let at = 0; at < list.length; at += step) chunks.push(list.slice(at, at + step));
  return chunks;
};
@@ hardcoded
exports.chunk = (list, size) => (size < list.length ? [list.slice(0, 2), list.slice(2)] : [list]);
@@ wrong
exports.chunk = (list, size) => {
  const chunks = [];
  for (let at = 0; at + size <= list.length; at += size) chunks.push(list.slice(at, at + size));
  return chunks;
};
@@ oracle
const { chunk } = require(root + '/lib/chunk.js');

assert.deepEqual(chunk([1, 2, 3], 2), [[1, 2], [3]]);
assert.deepEqual(chunk([1, 2, 3, 4, 5], 2), [[1, 2], [3, 4], [5]]);
assert.deepEqual(chunk([], 3), []);
assert.throws(() => chunk([1], 0), RangeError);
assert.throws(() => chunk([1], -1), RangeError);
