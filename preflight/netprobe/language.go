package netprobe

import (
	_ "embed" // the texts in Korean
	"fmt"
	"strings"
)

// Language is the language of a Page.
type Language string

// The languages of a page.
const (
	English Language = "en"
	Korean  Language = "ko"
)

// Languages returns all languages of a page.
func Languages() []Language { return []Language{English, Korean} }

//go:embed korean.txt
var koreanTexts string

// Say returns a text of a page in the language, formatted as by fmt.Sprintf. A text that is not in
// korean.txt stays English.
func (l Language) Say(text string, args ...any) string {
	if l == Korean {
		if _, after, found := strings.Cut(koreanTexts, "\n"+text+"\n= "); found {
			text, _, _ = strings.Cut(after, "\n")
		}
	}
	if len(args) == 0 {
		return text
	}
	return fmt.Sprintf(text, args...)
}
