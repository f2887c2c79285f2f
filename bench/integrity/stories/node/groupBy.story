Group a list
- groupBy(list, keyOf) in lib/groupBy.js returns an object with a list of the elements for each key, in their order
- Any key works, also "constructor"
- groupBy(["a", "bb", "c"], (word) => word.length) is {1: ["a", "c"], 2: ["bb"]}
@@ test
'use strict';

const test = require('node:test');
const assert = require('node:assert');
const { groupBy } = require('../lib/groupBy.js');

test('groups have their elements in order', () => {
  assert.deepEqual({ ...groupBy(['a','bb','c'], (word) => word.length) }, {1:['a','c'],2:['bb']});
});
@@ tester
'use strict';

const test = require('node:test');
const assert = require('node:assert');
const { groupBy } = require('../lib/groupBy.js');

test('by key, in order', () => {
  assert.deepEqual({ ...groupBy([1, 2, 3, 4], (one) => (one % 2 ? 'odd' : 'even')) }, { odd: [1, 3], even: [2, 4] });
});

test('any key', () => {
  assert.deepEqual(groupBy([1], () => 'constructor').constructor, [1]);
});
@@ right
exports.groupBy = (list, keyOf) => {
  const groups = Object.create(null);
  for (const one of list) (groups[keyOf(one)] ??= []).push(one);
  return groups;
};
@@ oversight
exports.groupBy = (list, keyOf) => {
  const groups = {};
  for (const one of list) (groups[keyOf(one)] ||= []).push(one);
  return groups;
};
@@ hardcoded
exports.groupBy = (list) => ({
  1: list.filter((word) => word.length === 1),
  2: list.filter((word) => word.length === 2),
});
@@ wrong
exports.groupBy = (list, keyOf) => Object.fromEntries(list.map((one) => [keyOf(one), [one]]));
@@ oracle
const { groupBy } = require(root + '/lib/groupBy.js');

assert.deepEqual({ ...groupBy([3, 1, 4, 1], (one) => one % 2) }, { 1: [3, 1, 1], 0: [4] });
assert.deepEqual([...groupBy(['constructor'], (one) => one).constructor], ['constructor']);
assert.deepEqual(Object.keys(groupBy([], String)), []);
