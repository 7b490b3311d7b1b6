package httpclient

import (
	"html"
	"regexp"
	"strings"
)

// maxTitle is the number of bytes of a page in which its title is searched.
const maxTitle = 64 << 10

var pageTitle = regexp.MustCompile(`(?is)<title[^>]*>([^<]{1,400})`)

// TitleOf returns the title of an HTML page in one line of at most 200 bytes; "" without one.
func TitleOf(page []byte) string {
	m := pageTitle.FindSubmatch(page[:min(len(page), maxTitle)])
	if m == nil {
		return ""
	}
	title := strings.Join(strings.Fields(strings.ToValidUTF8(html.UnescapeString(string(m[1])), "")), " ")
	if len(title) > 200 {
		title = strings.ToValidUTF8(title[:200], "") + "…"
	}
	return title
}
