package uitest

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Evil is what another host's stderr, a pod's log or a node's name may have.
const Evil = "x\x1b]52;c;AA\x07\x1b[2J\u009b2J\u202e\rfine \xff노드"

// ActsOn reports whether a terminal would act upon something in what is shown.
func ActsOn(shown string) bool {
	return !utf8.ValidString(shown) || strings.ContainsFunc(shown, func(r rune) bool {
		return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r))
	})
}
