package yamlfault

import (
	"regexp"
	"strings"
)

// WideSpace is the message for a key that begins with a character that YAML does not read as a
// space. Such a text is YAML, but its key is not the one of the author.
const WideSpace = "the line is indented with a character that only looks like a space, such as a no-break space: replace it with spaces"

// mistake is a frequent mistake that one line shows.
type mistake struct {
	is      func(line string) bool
	before  bool // the parser may notice it only in the next line
	message string
}

// mistakes are in the order of their certainty.
func mistakes() []mistake {
	return []mistake{
		{indentedByTab, true, "the line is indented with a tab: YAML accepts only spaces; replace the tab with spaces"},
		{indentedByWideSpace, true, WideSpace},
		{wideColon.MatchString, true, `the line has a full-width colon: write ":" and a space`},
		{openQuote, true, "a quote in this line is not closed: add the closing quote"},
		{noSpace.MatchString, true, `the space after the colon is missing: write "key: value"`},
		{rangeInBraces.MatchString, false, `a value with a range needs quotes inside { }: write name: "node[001-100]"`},
		{itemBesideKey.MatchString, false, "a list begins next to its key: begin each item in a new line, after the key"},
		{colonInValue.MatchString, false, `a value that contains ": " needs quotes`},
		{reserved.MatchString, false, "a value cannot begin with @, `, %, *, & or !: put it in quotes"},
	}
}

// meanings are the words of the parser, in plain words with a fix.
func meanings() map[string]string {
	const indentation = "the indentation does not fit the lines above: the keys of one section, and the items of one list, begin in the same column"
	const bracket = "a bracket that opens here is not closed, or a comma between its items is missing"
	return map[string]string{ //nolint:gosec // no credentials: "token" is a word of the parser
		"mapping values are not allowed in this context":               indentation,
		"did not find expected key":                                    indentation,
		"did not find expected '-' indicator":                          indentation,
		"block sequence entries are not allowed in this context":       indentation,
		"could not find expected ':'":                                  `the line has no colon after its key: write "key: value", or "- item" in a list`,
		"did not find expected ',' or ']'":                             bracket,
		"did not find expected ',' or '}'":                             bracket,
		"did not find expected node content":                           "a value is missing, or a bracket or comma is misplaced",
		"found unexpected end of stream":                               "a quote that opens here is not closed: add the closing quote",
		"found unexpected document indicator":                          "a quote that opens here is not closed: add the closing quote",
		"found unknown escape character":                               `a backslash in double quotes needs another one: write \\, or use single quotes`,
		"did not find expected hexdecimal number":                      `a backslash in double quotes needs another one: write \\, or use single quotes`,
		"did not find expected comment or line break":                  "text follows | or >: begin it in the next line",
		"did not find expected <document start>":                       "text follows the end of the document: check the indentation of the line",
		"found a tab character where an indentation space is expected": "the line is indented with a tab: YAML accepts only spaces; replace the tab with spaces",
		"found a tab character that violates indentation":              "the line is indented with a tab: YAML accepts only spaces; replace the tab with spaces",
		"found character that cannot start any token":                  "a value begins with a character that has a meaning in YAML: put the value in quotes",
		"did not find expected alphabetic or numeric character":        "a value cannot begin with * or &: put it in quotes",
	}
}

var (
	wideColon     = regexp.MustCompile(`^\s*(- )?[\w.-]+：`)
	noSpace       = regexp.MustCompile(`^\s*([A-Za-z][\w.-]*:[^\s:/]|- +[A-Za-z][\w.-]*:[A-Za-z])[^:]*$`)
	itemBesideKey = regexp.MustCompile(`^\s*(- +)?[\w.-]+: +- `)
	rangeInBraces = regexp.MustCompile(`\{.*: *[\w.-]+\[\d[\d,-]*\]`)
	colonInValue  = regexp.MustCompile(`^\s*(- +)?[\w.-]+: +[^\s"'{\[#|>&*!][^"#]*:(\s|$)`)
	reserved      = regexp.MustCompile("(:|-) +[@`%*&!]")
	quotedValue   = regexp.MustCompile(`(?:^\s*|[:\-,\[{] *)(["'])`)
	comment       = regexp.MustCompile(`\s#.*$`)
)

func indentedByTab(line string) bool { return strings.Contains(indentation(line, " \t"), "\t") }

func indentedByWideSpace(line string) bool {
	return indentation(line, " \u00a0\u3000\u2003\u2002\u200b\ufeff") != indentation(line, " ")
}

func indentation(line, of string) string {
	return line[:len(line)-len(strings.TrimLeft(line, of))]
}

// openQuote reports a value in quotes that does not end in its line.
func openQuote(line string) bool {
	line = comment.ReplaceAllString(line, "")
	m := quotedValue.FindStringSubmatchIndex(line)
	if m == nil {
		return false
	}
	quote := line[m[2]:m[3]]
	return strings.Count(strings.ReplaceAll(line[m[2]:], `\"`, ""), quote)%2 == 1
}
