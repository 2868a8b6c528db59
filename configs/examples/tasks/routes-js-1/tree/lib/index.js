"use strict";

const { Router } = require("./router");
const { compile } = require("./pattern");

module.exports = { Router, compile };
