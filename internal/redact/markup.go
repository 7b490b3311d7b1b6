package redact

import "regexp"

// Forms of XML and property lists, also where its brackets are escaped.
var (
	elementForm = regexp.MustCompile(`(?i)(?:<|&lt;)(?:[\w.-]+:)?[\w.-]*` + names + `(?:\s[^<>]*)?(?:>|&gt;)\s*(?:<!\[CDATA\[)?((?:[^<&]|&[^l])+)`)
	entryOfForm = regexp.MustCompile(`(?i)\b(?:name|key|id)\s*=\s*\\*["'][^"']*` + names + `\\*["'][^<>]*?(?:\bvalue\s*=\s*\\*["']([^"'\\]+)|>\s*(?:<value>)?([^<]+))`)
	// The element is called like a secret, and its attribute has it.
	valueOfForm = regexp.MustCompile(`(?i)(?:<|&lt;)(?:[\w.-]+:)?[\w.-]*` + names + `\s[^<>]*?\b(?:value|text|content)\s*=\s*(?:\\*["']|&quot;|&#3[49];)([^"'\\&]+)`)
	plistForm   = regexp.MustCompile(`(?i)<key>[^<]*` + names + `</key>\s*<(?:string|data)>([^<]+)`)
	openTagForm = regexp.MustCompile(`(?i)<(?:[\w.-]+:)?[\w.-]*` + names + `(?:\s(?:[^<>]*[^<>/])?)?>\s*(?:<!\[CDATA\[)?\s*$`)
	encodedForm = regexp.MustCompile(`(?i)` + names + `(?:%22)?(?:%3a|%3d)(?:%20|\+)*(?:%22)?([^&\s"'<>]+)`)
)

func markupForms() []pattern {
	return []pattern{
		{kind: Field, words: fieldWords(), form: ready(elementForm), secret: text, needs: "<&"},
		{kind: Field, words: fieldWords(), form: ready(entryOfForm), secret: text, needs: "<"},
		{kind: Field, words: fieldWords(), form: ready(valueOfForm), secret: text, needs: "<&"},
		{kind: Field, words: []string{"<key>"}, form: ready(plistForm), secret: text},
		{kind: Field, words: fieldWords(), needs: "%", form: ready(encodedForm)},
	}
}

// text is a group without characters that no secret has.
func text(line []byte, m []int) (from, to int) {
	from, to = firstGroup(line, m)
	if trivial(line[from:to]) {
		return from, from
	}
	return from, to
}
