package workload

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"gopkg.in/yaml.v3"
)

// scalar looks at one text: a reference, a list of some, or a document.
func (s *scout) scalar(key, text string, c context) {
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

// isProse are keys of texts for people.
func isProse(key string) bool {
	switch strings.ToLower(key) {
	case "description", "message", "summary", "title", "help", "readme", "notes", "displayname", "comment", "expr":
		return true
	}
	return false
}

// word judges one word with what its key says.
func (s *scout) word(key, word string, c context) {
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

// form is formOf, as long as not too many words have to be judged.
func (s *scout) form(word string) form {
	if s.judged++; s.judged > maxWords {
		if s.judged == maxWords+1 {
			s.unread = append(s.unread, fmt.Sprintf("%s and what follows: %d words were judged before, the others are not searched for images", s.where(), maxWords))
		}
		return noImage
	}
	return formOf(word)
}

// repository is a name without a tag. Below a key image a pod would take the
// latest one, as would one of Docker Hub; elsewhere a program adds its own tag.
func (s *scout) repository(key, word string, c context) {
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

// document reads a text inside of an object, if anything in it can be an image.
func (s *scout) document(text string, c context) {
	if !mayName(text) {
		return
	}
	if c.nested++; c.nested > maxNested {
		s.unread = append(s.unread, s.where()+": has too many texts inside of each other")
		return
	}
	if len(text) > maxText || len(text) > s.left {
		s.unread = append(s.unread, fmt.Sprintf("%s: is a text of %d bytes, too long to be searched for images", s.where(), len(text)))
		return
	}
	s.left -= len(text)
	parts, err := Split("", []byte(text))
	if err != nil { // a text that is no stream of documents
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

// mayName is a quick look: most texts of a chart are dashboards, rules and
// certificates.
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

// structured is the mapping or the list that a text writes; nil for none.
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

// plain has only mappings with texts as keys; nil for what is neither mapping
// nor list.
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

// lines reads settings and scripts: TOML, properties, templates of YAML.
func (s *scout) lines(text string, c context) {
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
		// Lines of different sections belong together only by their names.
		if key, value, is := setting(line); is && s.key(key).about != "" && len(parts) < maxKeys {
			parts[key] = strings.Trim(value, `"',`)
		}
	}
	s.parts(parts, c)
}

// continued stands between lines that a backslash joins.
const continued = "\x00"

func joinLines(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, continued, ""), "\\\n", continued)
}

func (s *scout) line(line string, c context) {
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

// alone is the key of a single word: among several, one without a tag is no image.
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

// arguments goes through words: a flag that says image names the word behind
// it.
func (s *scout) arguments(words []string, c context) {
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

// isFlag reports whether what stands before "=" is a flag or a variable.
func isFlag(key string) bool {
	return strings.Trim(strings.ToLower(key), "abcdefghijklmnopqrstuvwxyz_-0123456789.") == ""
}

// values are the references of one argument: a list, perhaps with keys.
func (s *scout) values(key, text string, c context) {
	judge := func() {
		words := strings.FieldsFunc(text, isBetween)
		for _, word := range words {
			s.word(alone(key, words), afterKey(word), c)
		}
	}
	if key == "" {
		judge()
		return
	}
	s.in(key, judge)
}

func isBetween(r rune) bool { return strings.ContainsRune(",; \t\r\n", r) }

// afterKey is the value of "4.2.0=quay.io/x/y:1".
func afterKey(word string) string { return word[strings.LastIndexByte(word, '=')+1:] }
