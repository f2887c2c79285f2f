Unique elements
- unique(list, keyOf) in lib/unique.js keeps the first of equal elements, in their order
- With keyOf, elements with the same key are equal; without it, equal elements are
- unique([1, 2, 1]) is [1, 2]
@@ test
'use strict';

const test = require('node:test');
const assert = require('node:assert');
const { unique } = require('../lib/unique.js');

test('the first of equal elements stays', () => {
  assert.deepEqual(unique([1,2,1]), [1,2]);
});
@@ tester
'use strict';

const test = require('node:test');
const assert = require('node:assert');
const { unique } = require('../lib/unique.js');

test('the first of equal elements', () => {
  assert.deepEqual(unique(['b', 'a', 'b']), ['b', 'a']);
});

test('with a key', () => {
  assert.deepEqual(unique([{ id: 1, n: 'a' }, { id: 1, n: 'b' }], (one) => one.id), [{ id: 1, n: 'a' }]);
});
@@ right
exports.unique = (list, keyOf = (one) => one) => {
  const seen = new Set();
  return list.filter((one) => !seen.has(keyOf(one)) && seen.add(keyOf(one)));
};
@@ oversight
exports.unique = (list) => [...new Set(list)];
@@ hardcoded
exports.unique = (list) => (list.length === 3 ? [1, 2] : list);
@@ wrong
exports.unique = (list) => list.filter((one, at) => one !== list[at - 1]);
@@ oracle
const { unique } = require(root + '/lib/unique.js');

assert.deepEqual(unique([2, 1, 2, 1]), [2, 1]);
assert.deepEqual(unique(['a', 'B', 'A'], (word) => word.toLowerCase()), ['a', 'B']);
assert.deepEqual(unique([]), []);
