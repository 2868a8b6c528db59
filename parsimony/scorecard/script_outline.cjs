// Definitions of JavaScript and TypeScript by the official compiler, the one of the footprint's tracks.
//
// One process for many files: a request is a line of JSON on stdin, its answer a line of JSON on stdout. It ends with
// its stdin.
//   in   {"name": "a.tsx", "text": "..."}
//   out  {"definitions": [[name, space, first line, last line], ...]}
//   or   {"error": "...", "line": 1 or null, "fatal": true if the process ends after it}
// What the parser reads is never run. The folder that holds the package `typescript` is the only argument.

"use strict";

const path = require("node:path");
const ts = require(path.join(process.argv[2], "typescript"));

const K = ts.SyntaxKind;
const SCRIPTS = { ".js": "JS", ".mjs": "JS", ".cjs": "JS", ".jsx": "JSX", ".tsx": "TSX" };

const TYPES = new Set([K.ClassDeclaration, K.ClassExpression, K.InterfaceDeclaration, K.EnumDeclaration, K.TypeAliasDeclaration]);
const FUNCTIONS = new Set([K.FunctionDeclaration, K.MethodDeclaration, K.Constructor, K.GetAccessor, K.SetAccessor]);
const VALUES = new Set([K.FunctionExpression, K.ArrowFunction, K.ClassExpression, K.ObjectLiteralExpression]);

class Refused extends Error {
  constructor(message, line) {
    super(message);
    this.line = line;
  }
}

/** Where each line starts. Only a line feed ends a line, as in patches. */
function lineStarts(text) {
  const starts = [0];
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return starts;
}

function lineAt(starts, position) {
  let low = 0;
  let high = starts.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (starts[middle] <= position) low = middle;
    else high = middle;
  }
  return low + 1;
}

function parse(name, text, starts) {
  const script = ts.ScriptKind[SCRIPTS[path.extname(name).toLowerCase()] ?? "TS"];
  const file = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, false, script);
  const wrong = file.parseDiagnostics[0];
  if (wrong !== undefined) {
    throw new Refused(ts.flattenDiagnosticMessageText(wrong.messageText, " ").slice(0, 200), lineAt(starts, wrong.start));
  }
  return file;
}

function joined(outer, inner) {
  return outer && inner ? outer + "." + inner : outer || inner;
}

/** The name that a declaration or a property gives; "" where it is computed or absent. */
function nameOf(node) {
  if (node.kind === K.Constructor) return "constructor";
  const name = node.name;
  if (name === undefined) return "";
  return name.text === undefined ? "" : String(name.text);
}

/** `a.b.c` of a target of an assignment; `exports`, `module.exports`, `this` and `prototype` say nothing by themselves. */
function targetOf(node) {
  const words = [];
  while (node.kind === K.PropertyAccessExpression) {
    words.unshift(node.name.text);
    node = node.expression;
  }
  if (node.kind === K.Identifier) words.unshift(node.text);
  else if (node.kind !== K.ThisKeyword) return "";
  if (words[0] === "module" && words[1] === "exports") words.splice(0, 2);
  else if (words[0] === "exports") words.shift();
  return words.filter((word) => word !== "prototype").join(".");
}

/** [value, name] where a node gives a name to a function, a class or an object; null otherwise. */
function named(node) {
  switch (node.kind) {
    case K.VariableDeclaration:
    case K.PropertyDeclaration:
    case K.PropertyAssignment:
      return node.initializer !== undefined && VALUES.has(node.initializer.kind) ? [node.initializer, nameOf(node)] : null;
    case K.BinaryExpression:
      return node.operatorToken.kind === K.EqualsToken && VALUES.has(node.right.kind) ? [node.right, targetOf(node.left)] : null;
    default:
      return null;
  }
}

/** Without recursion: chains of operators are trees as deep as they are long. */
function definitions(file, starts) {
  const found = [];
  const stack = [[file, "", ""]];
  while (stack.length > 0) {
    let [node, around, space] = stack.pop();
    const note = (name) => {
      found.push([name, space, lineAt(starts, node.getStart(file)), lineAt(starts, node.getEnd() - 1)]);
    };
    const [value, word] = named(node) ?? [null, ""];
    if (word !== "") {
      around = joined(around, word);
      if (value.kind !== K.ObjectLiteralExpression) note(around);  // an object is none, but gives its parts a name
      if (value.kind === K.FunctionExpression || value.kind === K.ArrowFunction) continue;
      node = value;
    } else if (FUNCTIONS.has(node.kind)) {
      const name = nameOf(node) || (node.kind === K.FunctionDeclaration ? "default" : "");
      if (name !== "") note(joined(around, name));
      continue;
    } else if (node.kind === K.ModuleDeclaration) {
      space = joined(space, nameOf(node));
    } else if (TYPES.has(node.kind)) {
      const name = nameOf(node) || (node.kind === K.ClassDeclaration ? "default" : "");
      around = joined(around, name);
      if (name !== "") note(around);
    }
    const children = [];
    ts.forEachChild(node, (child) => {
      children.push(child);
    });
    for (const child of children.reverse()) stack.push([child, around, space]);
  }
  return found;
}

function answer(request) {
  try {
    const starts = lineStarts(request.text);
    return { definitions: definitions(parse(request.name, request.text, starts), starts) };
  } catch (error) {
    if (error instanceof Refused) return { error: error.message, line: error.line, fatal: false };
    if (error instanceof RangeError) return { error: "is nested too deeply for the parser", line: null, fatal: true };
    return { error: `made the parser fail: ${String(error).slice(0, 200)}`, line: null, fatal: true };
  }
}

function serve() {
  let parts = [];
  process.stdin.setEncoding("utf8");
  process.stdin.on("data", (chunk) => {
    let start = 0;
    for (let end = chunk.indexOf("\n"); end >= 0; end = chunk.indexOf("\n", start)) {
      const line = parts.join("") + chunk.slice(start, end);
      parts = [];
      start = end + 1;
      const found = answer(JSON.parse(line));
      const written = JSON.stringify(found) + "\n";
      if (found.fatal) process.stdout.write(written, () => process.exit(0));
      else process.stdout.write(written);
    }
    parts.push(chunk.slice(start));
  });
  process.stdin.on("end", () => process.exit(0));
}

serve();
