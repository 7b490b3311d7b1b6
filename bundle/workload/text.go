package workload

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"gopkg.in/yaml.v3"
)

// scalar searches one text: a reference, a list of references, or a document.
func (s *searcher) scalar(key, text string, c context) {
	text = strings.TrimSpace(text)
	if text != "" && !isDocument(text) {
		text = s.fallbacks(text, c)
	}
	switch {
	case text == "":
	case isMarkup(text) && !isDocument(text):
		s.line(text, c)
	case !strings.ContainsAny(text, " \t\r\n,;={["):
		s.word(key, text, c)
	case isDocument(text):
		s.document(text, c)
	case strings.Contains(text, ": ") && isSetting(text):
		s.line(text, c)
	case !isProse(key):
		c.flat = true
		s.arguments(strings.Fields(text), c)
	}
}

// isProse reports whether a key has a text for people.
func isProse(key string) bool {
	switch strings.ToLower(key) {
	case "description", "message", "summary", "title", "help", "readme", "notes", "displayname", "comment", "expr":
		return true
	}
	return false
}

// word classifies one word by its shape and its key.
func (s *searcher) word(key, word string, c context) {
	if c.expands && isOpen(word) {
		s.openWord(strings.Trim(word, `"'`), c)
		return
	}
	word = strings.Trim(word, `"'`+"`"+`()[];,`)
	word = strings.TrimPrefix(strings.TrimPrefix(word, "docker://"), "oci://")
	if !c.named && !strings.ContainsAny(word, ":@") || strings.HasPrefix(word, "/") {
		return
	}
	switch s.form(word) {
	case whole:
		if s.secret && !c.named {
			return
		}
		s.add(Candidate{Ref: Ref{Image: word}})
	case unlikely:
		if c.named {
			s.add(Candidate{Ref: Ref{Image: word}})
		}
	case untagged:
		s.repository(key, word, c)
	}
}

// form is formOf with a limit on the number of words.
func (s *searcher) form(word string) form {
	if s.classified++; s.classified > maxWords {
		if s.classified == maxWords+1 {
			s.unread = append(s.unread, fmt.Sprintf("%s and all following places: the limit of %d words is reached, so airgap did not search them for images", s.where(), maxWords))
		}
		return noImage
	}
	return formOf(word)
}

// repository adds a name without a tag. Below a key image, and for Docker Hub, a pod uses
// the tag latest. In other places a program adds a tag.
func (s *searcher) repository(key, word string, c context) {
	k := s.key(key)
	last := k.last && !k.base
	switch {
	case !c.named:
	case !strings.Contains(word, "/"):
		if last && isOfHub(word) {
			s.add(Candidate{Ref: Ref{Image: word}, Word: true})
		}
	case key == "image" || last && !hasHost(word):
		s.add(Candidate{Ref: Ref{Image: word}})
	case hasHost(word) && !k.base:
		s.add(Candidate{Ref: Ref{Image: word}, Untagged: true})
	}
}

// isDocument reports whether a text may be YAML, JSON or lines of settings.
func isDocument(text string) bool {
	return strings.ContainsAny(text, "\n") || text[0] == '{' || text[0] == '['
}

// document searches a text inside of an object if it can contain an image.
func (s *searcher) document(text string, c context) {
	if !mayName(text) {
		return
	}
	if c.nested++; c.nested > maxNested {
		s.unread = append(s.unread, s.where()+": airgap did not search this text for images, because it has too many levels of nested texts")
		return
	}
	if len(text) > maxText || len(text) > s.left {
		s.unread = append(s.unread, fmt.Sprintf("%s: airgap did not search this text for images, because it has %d bytes", s.where(), len(text)))
		return
	}
	s.left -= len(text)
	parts, err := Split("", []byte(text))
	if err != nil { // not a stream of documents
		parts = []Document{{Text: []byte(text)}}
	}
	for _, part := range parts {
		value := structured(part.Text)
		if value == nil {
			s.lines(string(part.Text), c)
			continue
		}
		s.value("", value, c)
	}
}

// mayName reports quickly whether a text can name an image: most texts of a chart are
// dashboards, rules and certificates.
func mayName(text string) bool {
	for _, part := range []string{"mage", "MAGE", "epository", "EPOSITORY", "tag", "TAG"} {
		if strings.Contains(text, part) {
			return true
		}
	}
	for i := 1; i+1 < len(text); i++ {
		if (text[i] == ':' || text[i] == '@') && isNameByte(text[i-1]) && isTagByte(text[i+1]) {
			return true
		}
	}
	return false
}

func isNameByte(b byte) bool { return 'a' <= b && b <= 'z' || '0' <= b && b <= '9' }

func isTagByte(b byte) bool { return isNameByte(b) || 'A' <= b && b <= 'Z' || b == '_' }

// structured returns the mapping or the list in a text, or nil.
func structured(text []byte) any {
	text = bytes.TrimSpace(text)
	var value any
	if len(text) > 0 && (text[0] == '{' || text[0] == '[') {
		d := json.NewDecoder(bytes.NewReader(text))
		if d.Decode(&value) == nil && !d.More() {
			return value
		}
	}
	if CheckAliases(text) != nil {
		return nil
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	if d.Decode(&value) != nil || d.Decode(new(any)) != io.EOF { //nolint:errorlint // "[[table]]" of TOML is a list of YAML, and more
		return nil
	}
	return plain(value, 0)
}

// plain returns a mapping or a list in which all keys are strings; nil for other
// values.
func plain(value any, depth int) any {
	switch v := value.(type) {
	case map[string]any:
		for key, below := range v {
			v[key] = plainBelow(below, depth)
		}
		return v
	case map[any]any:
		m := make(map[string]any, len(v))
		for key, below := range v {
			m[fmt.Sprint(key)] = plainBelow(below, depth)
		}
		return m
	case []any:
		for i, below := range v {
			v[i] = plainBelow(below, depth)
		}
		return v
	}
	return nil
}

func plainBelow(value any, depth int) any {
	if depth > 2*maxDepth {
		return nil
	}
	if p := plain(value, depth+1); p != nil {
		return p
	}
	return value
}

// lines searches settings and scripts: TOML, properties, YAML templates.
func (s *searcher) lines(text string, c context) {
	n, parts := 0, map[string]any{}
	for line := range strings.Lines(joinLines(text)) {
		n++
		at := fmt.Sprintf("line %d", n)
		n += strings.Count(line, continued)
		line = strings.TrimSpace(strings.ReplaceAll(line, continued, " "))
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "//") || strings.HasPrefix(line, ";") || strings.HasPrefix(line, "<!--") {
			continue
		}
		s.in(at, func() { s.line(line, c) })
		// Only the names show which lines of different sections belong together.
		if key, value, is := setting(line); is && s.key(key).about != "" && len(parts) < maxKeys {
			parts[key] = strings.Trim(value, `"',`)
		}
	}
	s.parts(parts, c)
}

// continued separates lines that a backslash joins.
const continued = "\x00"

func joinLines(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, continued, ""), "\\\n", continued)
}

func (s *searcher) line(line string, c context) {
	c.flat = true
	line = s.fallbacks(s.elements(line, c), c)
	key, value, is := setting(line)
	if !is {
		s.arguments(strings.Fields(line), c)
		return
	}
	words := strings.FieldsFunc(value, isBetween)
	if !s.key(key).named {
		s.arguments(words, c)
		return
	}
	c.named = true
	for _, word := range words {
		s.in(key, func() { s.word(alone(key, words), afterKey(word), c) })
	}
}

// alone returns the key only for a single word: in a list, a word without a tag is not an
// image.
func alone(key string, words []string) string {
	if len(words) > 1 {
		return ""
	}
	return key
}

// setting splits "key: value" and "key = value".
func setting(line string) (key, value string, is bool) {
	line = strings.TrimPrefix(strings.TrimPrefix(line, "- "), "export ")
	at := strings.IndexAny(line, "=:")
	if at <= 0 || strings.HasPrefix(line, "-") {
		return "", "", false
	}
	key = strings.Trim(strings.TrimSpace(line[:at]), `"'`)
	if strings.Trim(strings.ToLower(key), "abcdefghijklmnopqrstuvwxyz0123456789_.-") != "" || line[at] == ':' && !strings.HasPrefix(line[at+1:], " ") {
		return "", "", false
	}
	return key, strings.TrimSpace(line[at+1:]), true
}

func isSetting(text string) bool { _, _, is := setting(text); return is }

// arguments searches words. The word after a flag such as --image is an image.
func (s *searcher) arguments(words []string, c context) {
	values, words := assignments(words)
	if values != nil {
		s.in("--set", func() { s.mapping(values, c) })
	}
	parts := map[string]any{} // --sidecar-image-repository=, --sidecar-image-tag=
	for i := 0; i < len(words); i++ {
		if !c.flat && !strings.Contains(words[i], "\n") {
			words[i] = s.fallbacks(s.elements(words[i], c), c)
		}
		word := strings.Trim(words[i], `"'`)
		if !c.flat && (strings.ContainsAny(word, " \n") || startsJSON(word)) && !strings.HasPrefix(word, "-") {
			s.scalar("", words[i], c)
			continue
		}
		key, value, joined := strings.Cut(word, "=")
		below := c
		switch {
		case !joined && strings.HasPrefix(word, "-") && i+1 < len(words) && !strings.HasPrefix(words[i+1], "-") && s.key(word).named:
			i++
			below.named = true
			s.values(word, words[i], below)
		case joined && isFlag(key) && !c.flat && startsJSON(value):
			below.named = c.named || s.key(key).named
			s.in(key, func() { s.scalar(key, value, below) })
		case joined && isFlag(key):
			below.named = c.named || s.key(key).named
			if !c.flat && s.key(key).about != "" {
				parts[key] = value
			}
			s.values(key, value, below)
		default:
			s.values("", word, c)
		}
	}
	s.parts(parts, c)
}

func startsJSON(text string) bool {
	return strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")
}

// isFlag reports whether the text before "=" is a flag or a variable.
func isFlag(key string) bool {
	return strings.Trim(strings.ToLower(key), "abcdefghijklmnopqrstuvwxyz_-0123456789.") == ""
}

// values searches the references in one argument: a list, optionally with keys.
func (s *searcher) values(key, text string, c context) {
	search := func() {
		words := strings.FieldsFunc(text, isBetween)
		for _, word := range words {
			s.word(alone(key, words), afterKey(word), c)
		}
	}
	if key == "" {
		search()
		return
	}
	s.in(key, search)
}

func isBetween(r rune) bool { return strings.ContainsRune(",; \t\r\n", r) }

// afterKey returns the value in "4.2.0=quay.io/x/y:1".
func afterKey(word string) string { return word[strings.LastIndexByte(word, '=')+1:] }
