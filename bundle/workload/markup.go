package workload

import (
	"regexp"
	"strings"
)

var (
	// element is one of XML that has nothing but a text: <image>maven:3.9</image>.
	element = regexp.MustCompile(`<([A-Za-z_][\w.:-]*)[^<>]*>([^<>]+)</`)
	// fallback is a shell's variable with what stands for it: ${IMG:-busybox:1}.
	fallback = regexp.MustCompile(`\$\{([A-Za-z_]\w*):?[-=]([^${}]*)\}`)
)

// maxFallbacks bounds fallbacks inside of each other.
const maxFallbacks = 4

// elements looks at the texts of XML's elements, and returns the line without
// its brackets: attributes are left.
func (s *scout) elements(line string, c context) string {
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

// fallbacks puts what stands for a shell's variables in their place, and looks
// at what stands for those that are called image.
func (s *scout) fallbacks(text string, c context) string {
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
