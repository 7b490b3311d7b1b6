package prose

import (
	"regexp"
	"strings"
)

// markdown returns the text of a page without code blocks, code, comments and addresses.
func markdown(_, source string) ([]passage, error) {
	source = replace(source, "(?ms)^[ \t]*```.*?^[ \t]*```[^\n]*$", "")
	source = replace(source, `(?s)<!--.*?-->`, "")
	source = replace(source, "`[^`]+`", code)
	source = replace(source, `\]\([^)\s]*\)`, "")
	source = replace(source, `<[A-Za-z/][^>]*>`, "")
	return blocks(split(source, 1)), nil
}

// plainText returns the text of a file for people, which may be a template.
func plainText(_, source string) ([]passage, error) {
	return blocks(split(actions(source), 1)), nil
}

// html returns the text between the tags of a template.
func html(_, source string) ([]passage, error) {
	source = replace(source, `(?s)<!--.*?-->`, "")
	source = replace(actions(source), `(?s)<(style|script|pre)\b.*?</(style|script|pre)>`, "")
	source = replace(source, `(?s)<(code|kbd)\b.*?</(code|kbd)>`, code)
	source = replace(source, `</?(a|b|em|i|strong|span)\b[^>]*>`, "")
	source = replace(source, `<[^>]*>`, " | ")
	return blocks(split(source, 1)), nil
}

// actions takes the actions out of a template: those that print are one word.
func actions(source string) string {
	source = replace(source, `\{\{-?\s*(/\*|if|else|end|range|with|define|template|block|break|continue|\$\w+\s*:?=)[^}]*\}\}`, "")
	return replace(source, `\{\{[^}]*\}\}`, code)
}

// hashComments returns the comments of YAML, shell and other files that begin a comment with #.
func hashComments(_, source string) ([]passage, error) {
	var all []passage
	var group []line
	for _, l := range append(split(source, 1), line{}) {
		text, is := strings.CutPrefix(strings.TrimLeft(l.text, " \t"), "#")
		if is {
			group = append(group, line{l.number, strings.TrimPrefix(strings.TrimLeft(text, "#!"), " ")})
			continue
		}
		all = append(all, paragraphs(group, 2)...)
		group = nil
		if _, text, is = strings.Cut(l.text, " # "); is {
			all = append(all, passage{{l.number, text}})
		}
	}
	return all, nil
}

// blocks returns the paragraphs of a page, with a passage for each heading and each row of a table.
func blocks(lines []line) []passage {
	var apart []line
	for _, l := range lines {
		text := strings.TrimLeft(l.text, " >")
		if strings.HasPrefix(text, "#") || strings.HasPrefix(text, "|") {
			apart = append(apart, line{l.number, ""}, line{l.number, strings.TrimLeft(text, "# ")}, line{l.number, ""})
			continue
		}
		apart = append(apart, l)
	}
	for i := range apart {
		apart[i].text = strings.TrimPrefix(apart[i].text, "> ")
	}
	return paragraphs(apart, 4)
}

// replace puts text in the place of each match and keeps the number of lines.
func replace(source, pattern, by string) string {
	return regexp.MustCompile(pattern).ReplaceAllStringFunc(source, func(match string) string {
		return by + strings.Repeat("\n", strings.Count(match, "\n"))
	})
}
