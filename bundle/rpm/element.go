package rpm

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"airgap.dev/airgap/bundle/rpm/markup"
)

// words keeps one copy of each name and version: packages share most of them.
type words map[string]string

func (w words) of(text []byte) string {
	if s, known := w[string(text)]; known {
		return s
	}
	s := string(text)
	w[s] = s
	return s
}

// readPackage reads a <package> element as encoding/xml would.
func readPackage(element []byte, known words) (xmlPackage, error) {
	p := &packageReader{words: known}
	if !utf8.Valid(element) {
		return p.xmlPackage, errors.New("it is not UTF-8")
	}
	r := markup.NewReader(element)
	for !r.Done() {
		t, err := r.Next()
		if err == nil {
			err = p.token(t)
		}
		if err != nil {
			return p.xmlPackage, err
		}
	}
	return p.xmlPackage, nil
}

// packageReader fills an xmlPackage from tokens.
type packageReader struct {
	xmlPackage

	words
	name, text []byte // of the open element without children
	format     bool   // inside of <format>
	entries    *xmlEntries
}

func (p *packageReader) token(t markup.Token) error {
	switch t.Kind {
	case markup.Text:
		if p.name == nil {
			return nil
		}
		text, err := t.Text(p.text)
		p.text = text
		return err
	case markup.Start:
		p.text = p.text[:0]
		return p.start(t)
	}
	switch {
	case t.Depth == 2 && p.format:
		p.format = false
	case t.Depth == 3 && p.entries != nil:
		p.entries = nil
	case p.name != nil:
		p.value(t)
	}
	p.name = nil
	return nil
}

func (p *packageReader) start(t markup.Token) error {
	if p.name != nil {
		return fmt.Errorf("the element %.40q is inside of the text of %.40q", t.Name, p.name)
	}
	switch {
	case t.Depth == 2:
		return p.child(t)
	case t.Depth == 3 && p.format:
		name := string(t.Name)
		if p.entries = p.relations(name); name == "license" || name == "file" {
			p.name = t.Name
		}
	case t.Depth == 4 && p.entries != nil && string(t.Name) == "entry":
		return p.relation(t.Attributes)
	}
	return nil
}

// child reads the start of an element of the package.
func (p *packageReader) child(t markup.Token) error {
	switch string(t.Name) {
	case "format":
		p.format = true
	case "name", "arch":
		p.name = t.Name
	case "checksum":
		p.name = t.Name
		return t.Attributes.Each(p.set(map[string]*string{"type": &p.Checksum.Type}))
	case "version":
		return t.Attributes.Each(p.set(map[string]*string{"epoch": &p.Version.Epoch, "ver": &p.Version.Ver, "rel": &p.Version.Rel}))
	case "location":
		return t.Attributes.Each(p.set(map[string]*string{"base": &p.Location.Base, "href": &p.Location.Href}))
	case "time":
		return t.Attributes.Each(number("file", &p.Time.File))
	case "size":
		return t.Attributes.Each(number("package", &p.Size.Package))
	}
	return nil
}

// set stores attributes by name.
func (p *packageReader) set(to map[string]*string) func(name, value []byte) error {
	return func(name, value []byte) error {
		if field := to[string(name)]; field != nil {
			*field = string(value)
		}
		return nil
	}
}

func number(attribute string, to *int64) func(name, value []byte) error {
	return func(name, value []byte) (err error) {
		if string(name) == attribute {
			*to, err = strconv.ParseInt(strings.TrimSpace(string(value)), 10, 64)
		}
		return err
	}
}

// relations returns the list of a child of <format>, or nil.
func (p *packageReader) relations(name string) *xmlEntries {
	switch name {
	case "provides":
		return &p.Format.Provides
	case "requires":
		return &p.Format.Requires
	case "conflicts":
		return &p.Format.Conflicts
	case "obsoletes":
		return &p.Format.Obsoletes
	case "recommends":
		return &p.Format.Recommends
	case "suggests":
		return &p.Format.Suggests
	}
	return nil
}

func (p *packageReader) relation(attributes markup.Attributes) error {
	var e xmlEntry
	err := attributes.Each(func(name, value []byte) error {
		switch string(name) {
		case "name":
			e.Name = p.of(value)
		case "flags":
			e.Flags = p.of(value)
		case "epoch":
			e.Epoch = p.of(value)
		case "ver":
			e.Ver = p.of(value)
		case "rel":
			e.Rel = p.of(value)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read a relation: %w", err)
	}
	p.entries.Entries = append(p.entries.Entries, e)
	return nil
}

// value stores the text of an element without children.
func (p *packageReader) value(t markup.Token) {
	switch {
	case t.Depth == 2 && string(p.name) == "name":
		p.Name = string(p.text)
	case t.Depth == 2 && string(p.name) == "arch":
		p.Arch = p.of(p.text)
	case t.Depth == 2:
		p.Checksum.Hex = string(p.text)
	case string(p.name) == "license":
		p.Format.License = p.of(p.text)
	case string(p.name) == "file":
		p.Format.Files = append(p.Format.Files, string(p.text))
	}
}
