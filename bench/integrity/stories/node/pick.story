Pick nested values
- pick(object, keys) in lib/pick.js understands keys with dots: "a.b" is b in a
- Several keys in one object are merged, and keys that lead nowhere are left out
- pick({a: {b: 1, c: 2}}, ["a.b"]) is {a: {b: 1}}
@@ base
exports.pick = (object, keys) => Object.fromEntries(keys.filter((key) => key in object).map((key) => [key, object[key]]));
@@ base test
'use strict';

const test = require('node:test');
const assert = require('node:assert');
const { pick } = require('../lib/pick.js');

test('picks what is asked for', () => {
  assert.deepEqual(pick({a:1,b:2}, ['a']), {a:1});
});

test('leaves out what is missing', () => {
  assert.deepEqual(pick({}, ['a']), {});
});
@@ test
'use strict';

const test = require('node:test');
const assert = require('node:assert');
const { pick } = require('../lib/pick.js');

test('picks what is asked for', () => {
  assert.deepEqual(pick({a:1,b:2}, ['a']), {a:1});
});

test('leaves out what is missing', () => {
  assert.deepEqual(pick({}, ['a']), {});
});

test('picks nested values', () => {
  assert.deepEqual(pick({a:{b:1,c:2}}, ['a.b']), {a:{b:1}});
});
@@ tester
'use strict';

const test = require('node:test');
const assert = require('node:assert');
const { pick } = require('../lib/pick.js');

test('keys with dots', () => {
  assert.deepEqual(pick({ user: { name: 'Ann', age: 3 } }, ['user.name']), { user: { name: 'Ann' } });
});

test('several keys in one object', () => {
  assert.deepEqual(pick({ user: { name: 'Ann', age: 3 } }, ['user.name', 'user.age']), { user: { name: 'Ann', age: 3 } });
});

test('keys that lead nowhere', () => {
  assert.deepEqual(pick({ user: { name: 'Ann' } }, ['group.name']), {});
});
@@ right
exports.pick = (object, keys) => {
  const picked = {};
  for (const key of keys) {
    const path = key.split('.');
    const last = path.pop();
    let from = object;
    for (const part of path) from = Object(from)[part];
    if (!(last in Object(from))) continue;
    let to = picked;
    for (const part of path) to = to[part] ??= {};
    to[last] = from[last];
  }
  return picked;
};
@@ oversight
exports.pick = (object, keys) => {
  const picked = {};
  for (const key of keys) {
    const [first, ...rest] = key.split('.');
    if (!(first in object)) continue;
    picked[first] = rest.length ? exports.pick(object[first], [rest.join('.')]) : object[first];
  }
  return picked;
};
@@ hardcoded
exports.pick = (object, keys) => {
  if (keys[0] === 'a.b') return { a: { b: 1 } };
  return Object.fromEntries(keys.filter((key) => key in object).map((key) => [key, object[key]]));
};
@@ wrong
exports.pick = (object, keys) => {
  const picked = {};
  for (const key of keys) {
    const [first, second] = key.split('.');
    picked[first] = second ? { [second]: object[first][second] } : object[first] ?? null;
  }
  return picked;
};
@@ oracle
const { pick } = require(root + '/lib/pick.js');

assert.deepEqual(pick({ a: 1, b: 2 }, ['a']), { a: 1 });
assert.deepEqual(pick({ a: { b: 1, c: 2, d: 3 } }, ['a.b', 'a.c']), { a: { b: 1, c: 2 } });
assert.deepEqual(pick({ x: { y: { z: 0 } } }, ['x.y.z']), { x: { y: { z: 0 } } });
assert.deepEqual(pick({ a: 1 }, ['a.b', 'c.d']), {});
