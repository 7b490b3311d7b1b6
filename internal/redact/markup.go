package redact

// Forms of XML and property lists, also where its brackets are escaped.
var (
	elementForm = lazy(`(?i)(?:<|&lt;)(?:[\w.-]+:)?[\w.-]*` + names + `(?:\s[^<>]*)?(?:>|&gt;)\s*(?:<!\[CDATA\[)?((?:[^<&]|&[^l])+)`)
	entryOfForm = lazy(`(?i)\b(?:name|key|id)\s*=\s*\\*["'][^"']*` + names + `\\*["'][^<>]*?(?:\bvalue\s*=\s*\\*["']([^"'\\]+)|>\s*(?:<value>)?([^<]+))`)
	// The element is called like a secret, and its attribute has it.
	valueOfForm = lazy(`(?i)(?:<|&lt;)(?:[\w.-]+:)?[\w.-]*` + names + `\s[^<>]*?\b(?:value|text|content)\s*=\s*(?:\\*["']|&quot;|&#3[49];)([^"'\\&]+)`)
	plistForm   = lazy(`(?i)<key>[^<]*` + names + `</key>\s*<(?:string|data)>([^<]+)`)
	openTagForm = lazy(`(?i)<(?:[\w.-]+:)?[\w.-]*` + names + `(?:\s(?:[^<>]*[^<>/])?)?>\s*(?:<!\[CDATA\[)?\s*$`)
	encodedForm = lazy(`(?i)` + names + `(?:%22)?(?:%3a|%3d)(?:%20|\+)*(?:%22)?([^&\s"'<>]+)`)
)

func markupForms() []pattern {
	return []pattern{
		{kind: Field, words: fieldWords(), form: elementForm, secret: text, needs: "<&"},
		{kind: Field, words: fieldWords(), form: entryOfForm, secret: text, needs: "<"},
		{kind: Field, words: fieldWords(), form: valueOfForm, secret: text, needs: "<&"},
		{kind: Field, words: []string{"<key>"}, form: plistForm, secret: text},
		{kind: Field, words: fieldWords(), needs: "%", form: encodedForm},
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
