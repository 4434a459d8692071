// The places of TypeScript files in which the code can be broken: `node mutate_typescript.mjs FILE...`, JSON on stdout.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const ts = createRequire(new URL("../frontend/package.json", import.meta.url))("typescript");
const K = ts.SyntaxKind;
const SWAPS = new Map([
    [K.LessThanToken, "<="], [K.LessThanEqualsToken, "<"], [K.GreaterThanToken, ">="], [K.GreaterThanEqualsToken, ">"],
    [K.EqualsEqualsEqualsToken, "!=="], [K.ExclamationEqualsEqualsToken, "==="], [K.AmpersandAmpersandToken, "||"],
    [K.BarBarToken, "&&"], [K.PlusToken, "-"], [K.MinusToken, "+"], [K.AsteriskToken, "/"], [K.SlashToken, "*"],
]);
const isText = (node) => ts.isStringLiteralLike(node) || ts.isTemplateExpression(node);

const places = [];
for (const file of process.argv.slice(2)) {
    const source = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest, true);
    const text = source.text;
    const add = (node, to) => {
        const [start, end] = [node.getStart(source), node.end];
        const line = source.getLineAndCharacterOfPosition(start).line + 1;
        places.push({ file, line, start, end, from: text.slice(start, end), to });
    };
    const visit = (node) => {
        if (ts.isTypeNode(node) || ts.isImportDeclaration(node)) return;
        if (ts.isBinaryExpression(node) && SWAPS.has(node.operatorToken.kind) && !isText(node.left) && !isText(node.right)) {
            const sign = node.operatorToken;
            add(node, text.slice(node.getStart(source), sign.getStart(source)) + SWAPS.get(sign.kind) + text.slice(sign.end, node.end));
        } else if (ts.isPrefixUnaryExpression(node) && node.operator === K.ExclamationToken) add(node, node.operand.getText(source));
        else if (ts.isNumericLiteral(node) && !ts.isPropertyAssignment(node.parent) && !ts.isLiteralTypeNode(node.parent))
            add(node, `${Number(node.text) + 1}`);
        else if (ts.isConditionalExpression(node)) add(node.condition, `!(${node.condition.getText(source)})`);
        ts.forEachChild(node, visit);
    };
    visit(source);
}
console.log(JSON.stringify(places));
