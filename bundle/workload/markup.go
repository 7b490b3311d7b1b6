package workload

import (
	"regexp"
	"strings"
)

var (
	// element matches an XML element that contains only text: <image>maven:3.9</image>.
	element = regexp.MustCompile(`<([A-Za-z_][\w.:-]*)[^<>]*>([^<>]+)</`)
	// fallback matches a shell variable with a default value: ${IMG:-busybox:1}.
	fallback = regexp.MustCompile(`\$\{([A-Za-z_]\w*):?[-=]([^${}]*)\}`)
)

// maxFallbacks limits nested default values.
const maxFallbacks = 4

// elements searches the texts of XML elements. It returns the line without brackets, so
// that attributes can be searched too.
func (s *searcher) elements(line string, c context) string {
	if !isMarkup(line) {
		return line
	}
	for _, m := range element.FindAllStringSubmatch(line, -1) {
		below := c
		below.named = s.key(m[1]).named
		s.values(m[1], m[2], below)
	}
	return strings.NewReplacer("<", " ", ">", " ").Replace(line)
}

func isMarkup(text string) bool { return strings.Contains(text, "</") && element.MatchString(text) }

// fallbacks replaces shell variables with their default values, and searches the default
// values of variables such as IMAGE.
func (s *searcher) fallbacks(text string, c context) string {
	for range maxFallbacks {
		if !strings.Contains(text, "${") {
			break
		}
		found := fallback.FindAllStringSubmatch(text, -1)
		if found == nil {
			break
		}
		for _, m := range found {
			if s.key(m[1]).named {
				below := c
				below.named = true
				s.values(m[1], m[2], below)
			}
		}
		text = fallback.ReplaceAllString(text, "${2}")
	}
	return text
}
