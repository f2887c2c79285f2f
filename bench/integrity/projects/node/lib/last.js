'use strict';

exports.last = (list) => list[list.length - 1];
