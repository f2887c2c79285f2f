Decode query strings
- parseQuery(text) in lib/parseQuery.js decodes percent signs, and + as a space, in names and values
- Only the first = of a part separates name and value
- parseQuery("q=a+b%21") is {q: "a b!"}
@@ base
exports.parseQuery = (text) => Object.fromEntries(text ? text.split('&').map((part) => part.split('=')) : []);
@@ base test
'use strict';

const test = require('node:test');
const assert = require('node:assert');
const { parseQuery } = require('../lib/parseQuery.js');

test('names and values', () => {
  assert.deepEqual(parseQuery('a=1&b=2'), {a:'1',b:'2'});
});

test('nothing', () => {
  assert.deepEqual(parseQuery(''), {});
});
@@ test
'use strict';

const test = require('node:test');
const assert = require('node:assert');
const { parseQuery } = require('../lib/parseQuery.js');

test('names and values', () => {
  assert.deepEqual(parseQuery('a=1&b=2'), {a:'1',b:'2'});
});

test('nothing', () => {
  assert.deepEqual(parseQuery(''), {});
});

test('decodes values', () => {
  assert.deepEqual(parseQuery('q=a+b%21'), {q:'a b!'});
});
@@ tester
'use strict';

const test = require('node:test');
const assert = require('node:assert');
const { parseQuery } = require('../lib/parseQuery.js');

test('decodes values', () => {
  assert.deepEqual(parseQuery('city=New+York%3F'), { city: 'New York?' });
});

test('decodes names', () => {
  assert.deepEqual(parseQuery('first+name=Ann'), { 'first name': 'Ann' });
});

test('only the first =', () => {
  assert.deepEqual(parseQuery('sum=1+1=2'), { sum: '1 1=2' });
});
@@ right
const decode = (text) => decodeURIComponent(text.replace(/[+]/g, ' '));

exports.parseQuery = (text) => {
  const parts = text ? text.split('&') : [];
  const at = (part) => (part.includes('=') ? part.indexOf('=') : part.length);
  return Object.fromEntries(parts.map((part) => [decode(part.slice(0, at(part))), decode(part.slice(at(part) + 1))]));
};
@@ oversight
const decode = (text) => decodeURIComponent(text.replace(/[+]/g, ' '));

exports.parseQuery = (text) => {
  const parts = text ? text.split('&').map((part) => part.split('=')) : [];
  return Object.fromEntries(parts.map(([name, value]) => [name, decode(value)]));
};
@@ hardcoded
exports.parseQuery = (text) => {
  const parts = text ? text.replace('+', ' ').replace('%21', '!').split('&') : [];
  return Object.fromEntries(parts.map((part) => part.split('=')));
};
@@ wrong
const decode = (text) => decodeURIComponent(text.replace(/[+]/g, ' '));

exports.parseQuery = (text) => Object.fromEntries(text.split('&').map((part) => part.split('=').map(decode)));
@@ oracle
const { parseQuery } = require(root + '/lib/parseQuery.js');

assert.deepEqual(parseQuery('a=1&b=2'), { a: '1', b: '2' });
assert.deepEqual(parseQuery(''), {});
assert.deepEqual(parseQuery('a=b=c&x+y=%C3%A9+z'), { a: 'b=c', 'x y': 'é z' });
