package uitest

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Evil is possible content of another host's stderr, a pod's log or a node's name.
const Evil = "x\x1b]52;c;AA\x07\x1b[2J\u009b2J\u202e\rfine \xff노드"

// ActsOn reports whether a terminal would interpret a part of the text.
func ActsOn(shown string) bool {
	return !utf8.ValidString(shown) || strings.ContainsFunc(shown, func(r rune) bool {
		return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r))
	})
}
