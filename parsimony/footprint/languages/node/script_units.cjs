// Coding units of JavaScript and TypeScript by the official compiler (track typescript-compiler-units-v1).
//
// One process for many files: a request is a line of JSON on stdin, its answer a line of JSON on stdout. It ends with its
// stdin.
//   in   {"name": "a.tsx", "sides": ["text before", "text after"], "tokens": true}
//   out  {"kinds": [...], "sides": [{"units": [...], "tokens": [...], "nodes": n, "branches": n}, ...]}
//        units and tokens are numbers that both sides share; kinds[unit] is the unit without identifiers and literals;
//        nodes are those of the syntax tree, branches the cyclomatic proxy
//   or   {"error": "...", "side": 0, "line": 1 or null, "fatal": true if the process ends after it}
// What the parser reads is never run. The folder that holds the package `typescript` is the only argument.

"use strict";

const path = require("node:path");
const ts = require(path.join(process.argv[2], "typescript"));

const K = ts.SyntaxKind;

/** Nodes that are no unit themselves; what they hold belongs to the unit around them. */
const WRAPPERS = new Set([
  K.SourceFile,
  K.ExpressionStatement,
  K.ParenthesizedExpression,
  K.ParenthesizedType,
  K.TemplateSpan,
  K.TemplateLiteralTypeSpan,
  K.ImportClause,
  K.NamedImports,
  K.NamedExports,
  K.JsxExpression,
  K.CaseBlock,
]);

/** Nodes after whose children one more unit stands, so that a statement that moves out of them is seen to move. */
const BLOCKS = new Set([K.Block, K.ModuleBlock, K.CaseBlock, K.ClassDeclaration, K.ClassExpression]);

/** Keywords that stand for a value or a type: units of their own, not a part of the unit around them. */
const VALUES = new Set([
  K.ThisKeyword,
  K.SuperKeyword,
  K.TrueKeyword,
  K.FalseKeyword,
  K.NullKeyword,
  K.AnyKeyword,
  K.BigIntKeyword,
  K.BooleanKeyword,
  K.IntrinsicKeyword,
  K.NeverKeyword,
  K.NumberKeyword,
  K.ObjectKeyword,
  K.StringKeyword,
  K.SymbolKeyword,
  K.UndefinedKeyword,
  K.UnknownKeyword,
  K.VoidKeyword,
]);

const TEXTS = new Set([
  K.Identifier,
  K.PrivateIdentifier,
  K.NumericLiteral,
  K.BigIntLiteral,
  K.StringLiteral,
  K.RegularExpressionLiteral,
  K.NoSubstitutionTemplateLiteral,
  K.TemplateHead,
  K.TemplateMiddle,
  K.TemplateTail,
  K.JsxText,
]);

const FORKS = new Set([
  K.FunctionDeclaration,
  K.FunctionExpression,
  K.ArrowFunction,
  K.MethodDeclaration,
  K.Constructor,
  K.GetAccessor,
  K.SetAccessor,
  K.IfStatement,
  K.ConditionalExpression,
  K.ForStatement,
  K.ForInStatement,
  K.ForOfStatement,
  K.WhileStatement,
  K.DoStatement,
  K.CaseClause,
  K.CatchClause,
]);

const PUNCTUATION = new Set(["(", ")", "[", "]", "{", "}", ",", ";", "."]);

const END_BLOCK = "EndBlock";

const SCRIPTS = { ".js": "JS", ".mjs": "JS", ".cjs": "JS", ".jsx": "JSX", ".tsx": "TSX" };

class Refused extends Error {
  constructor(message, line) {
    super(message);
    this.line = line;
  }
}

/** Numbers for keys, in the order in which they are first asked for. */
class Numbers {
  constructor() {
    this.known = new Map();
  }

  of(key) {
    let number = this.known.get(key);
    if (number === undefined) {
      number = this.known.size;
      this.known.set(key, number);
    }
    return number;
  }
}

/** What the two sides of one comparison share. */
class Shared {
  constructor() {
    this.labels = new Numbers();
    this.kindNames = new Numbers();
    this.kinds = [];
    this.tokens = new Numbers();
  }

  unit(kind, text) {
    const number = this.labels.of(text === undefined ? kind : kind + "\0" + text);
    if (number === this.kinds.length) this.kinds.push(this.kindNames.of(kind));
    return number;
  }
}

function parse(name, text) {
  const script = ts.ScriptKind[SCRIPTS[path.extname(name).toLowerCase()] ?? "TS"];
  const file = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, false, script);
  const wrong = file.parseDiagnostics[0];
  if (wrong !== undefined) {
    const line = file.getLineAndCharacterOfPosition(wrong.start).line + 1;
    throw new Refused(ts.flattenDiagnosticMessageText(wrong.messageText, " ").slice(0, 200), line);
  }
  return file;
}

function isFolded(kind) {
  if (VALUES.has(kind)) return false;
  return (kind >= K.FirstPunctuation && kind <= K.LastPunctuation) || (kind >= K.FirstKeyword && kind <= K.LastKeyword);
}

const DECLARED = new Map([
  [ts.NodeFlags.None, "var"],
  [ts.NodeFlags.Let, "let"],
  [ts.NodeFlags.Const, "const"],
  [ts.NodeFlags.Using, "using"],
  [ts.NodeFlags.AwaitUsing, "await using"],
]);

/** Keywords and operators that the compiler keeps as a property of the node, not as a child. */
function properties(node) {
  switch (node.kind) {
    case K.PrefixUnaryExpression:
    case K.PostfixUnaryExpression:
    case K.TypeOperator:
      return [ts.tokenToString(node.operator)];
    case K.MetaProperty:
      return [ts.tokenToString(node.keywordToken)];
    case K.HeritageClause:
    case K.ImportAttributes:
      return [ts.tokenToString(node.token)];
    case K.VariableDeclarationList:
      return [DECLARED.get(node.flags & ts.NodeFlags.BlockScoped)];
    case K.ExportAssignment:
      return [node.isExportEquals ? "=" : "default"];
    case K.ImportClause:
      return node.phaseModifier === undefined ? [] : [ts.tokenToString(node.phaseModifier)];
    case K.ImportSpecifier:
    case K.ExportSpecifier:
    case K.ExportDeclaration:
    case K.ImportEqualsDeclaration:
      return node.isTypeOnly ? ["type"] : [];
    case K.ImportType:
      return node.isTypeOf ? ["typeof"] : [];
    default:
      return [];
  }
}

/** Children that are nodes, and words of the label; those of wrappers within that are no unit are part of it. */
function inspect(node) {
  const words = properties(node);
  const children = [];
  ts.forEachChild(node, (child) => {
    if (isFolded(child.kind)) words.push(ts.tokenToString(child.kind));
    else if (child.kind !== K.EndOfFileToken) children.push(child);
  });
  return { words, children };
}

function isWrapper(node, parent) {
  if (node.kind === K.VariableDeclarationList) return parent.kind === K.VariableStatement;
  if (node.kind === K.JsxText) return node.containsOnlyTriviaWhiteSpaces;
  return WRAPPERS.has(node.kind);
}

/** Words of the wrappers directly below a node: `const` of the list in a variable statement, `type` of an import. */
function wordsBelow(node, children) {
  const words = [];
  for (const child of children) {
    if (isWrapper(child, node) && child.kind !== K.ParenthesizedExpression) words.push(...inspect(child).words);
  }
  return words;
}

function isLogical(node) {
  if (node.kind !== K.BinaryExpression) return false;
  const operator = node.operatorToken.kind;
  return operator === K.AmpersandAmpersandToken || operator === K.BarBarToken;
}

/** Units in source order, without recursion: chains of operators are trees as deep as they are long. */
function units(file, shared) {
  const found = { units: [], nodes: 0, branches: 0 };
  const stack = [[file, file]];
  while (stack.length > 0) {
    const [node, parent] = stack.pop();
    if (node === END_BLOCK) {
      found.units.push(shared.unit(END_BLOCK));
      continue;
    }
    const { words, children } = inspect(node);
    if (!isWrapper(node, parent)) {
      const kind = [node.kind, ...words, ...wordsBelow(node, children)].join(" ");
      found.units.push(shared.unit(kind, TEXTS.has(node.kind) ? node.text : undefined));
      found.nodes += 1;
    }
    if (FORKS.has(node.kind) || isLogical(node)) found.branches += 1;
    if (BLOCKS.has(node.kind)) stack.push([END_BLOCK, node]);
    for (let index = children.length - 1; index >= 0; index -= 1) stack.push([children[index], node]);
  }
  return found;
}

/** Tokens in source order as they are spelled, without punctuation and comments. */
function tokens(file, shared) {
  const found = [];
  const stack = [file];
  while (stack.length > 0) {
    const node = stack.pop();
    const children = node.getChildren(file);
    if (children.length === 0) {
      const spelled = node.kind === K.JsxText ? node.getFullText(file) : node.getText(file);
      if (spelled !== "" && !PUNCTUATION.has(spelled)) found.push(shared.tokens.of(node.kind + " " + spelled));
    }
    for (let index = children.length - 1; index >= 0; index -= 1) {
      if (children[index].kind < K.FirstJSDocNode || children[index].kind > K.LastJSDocNode) stack.push(children[index]);
    }
  }
  return found;
}

function answer(request) {
  const shared = new Shared();
  const sides = [];
  for (const text of request.sides) {
    try {
      const file = parse(request.name, text);
      sides.push({ ...units(file, shared), tokens: request.tokens ? tokens(file, shared) : null });
    } catch (error) {
      return failure(error, sides.length);
    }
  }
  return { kinds: shared.kinds, sides };
}

function failure(error, side) {
  if (error instanceof Refused) return { error: error.message, side, line: error.line, fatal: false };
  if (error instanceof RangeError) return { error: "is nested too deeply for the parser", side, line: null, fatal: true };
  return { error: `made the parser fail: ${String(error).slice(0, 200)}`, side, line: null, fatal: true };
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
