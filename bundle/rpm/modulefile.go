package rpm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"gopkg.in/yaml.v3"

	"airgap.dev/airgap/bundle/rpm/modstream"

	"airgap.dev/airgap/bundle/rpm/markup"
)

// modules has the module streams of repositories. dnf shows the packages of at most
// one stream per module. The formats are modulemd, version 2, and modulemd-defaults,
// version 1:
// https://github.com/fedora-modularity/libmodulemd/tree/main/yaml_specs
type modules struct {
	builds   []modstream.Build
	defaults map[string]string // stream by module
	odd      []string          // sentences about documents that are left out
}

type moduleDocument struct {
	Document string            `yaml:"document"`
	Version  modstream.Version `yaml:"version"`
	Data     yaml.Node         `yaml:"data"`
}

// maxDocument limits one document of module metadata: its parser needs fifty times as much memory. The largest of EL has
// 200 KiB.
const maxDocument = 4 << 20

// readModules reads the module metadata. Most repositories have none.
func (s *source) readModules(ctx context.Context) (modules, error) {
	m, err := s.metadata(ctx, "modules")
	if errors.Is(err, errNotListed) {
		return modules{}, nil
	}
	if err != nil {
		return modules{}, err
	}
	r, err := decompress(ctx, m.name, m.data, maxModules)
	if err != nil {
		return modules{}, unusable(err)
	}
	all, err := parseModules(r)
	switch {
	case ctx.Err() != nil:
		return modules{}, context.Cause(ctx)
	case err != nil:
		return modules{}, unusable(fmt.Errorf("read %s: %w", m.name, err))
	}
	for _, sentence := range all.odd {
		s.note(sentence + in(m.name))
	}
	return all, nil
}

// parseModules reads a stream of YAML documents. As libmodulemd it leaves out documents that it cannot read.
func parseModules(r io.Reader) (modules, error) {
	all := modules{defaults: map[string]string{}}
	r, err := markup.UTF8(r)
	if err != nil {
		return all, err
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return all, err
	}
	for line, document := range eachDocument(text) {
		if err := all.read(document); err != nil {
			all.odd = append(all.odd, fmt.Sprintf("the module document at line %d is left out: %s", line, visible(err.Error())))
		}
	}
	return all, nil
}

// read reads one document.
func (m *modules) read(document []byte) error {
	if len(document) > maxDocument {
		return fmt.Errorf("%w (the limit is %d bytes)", errTooLarge, maxDocument)
	}
	var d moduleDocument
	if err := yaml.Unmarshal(document, &d); err != nil {
		return err
	}
	return m.add(d)
}

// eachDocument splits a stream of YAML documents, and returns the number of the first line of each. So an error in one does
// not hide the following ones.
func eachDocument(text []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		first, number := 1, 0
		var document []byte
		for line := range bytes.Lines(text) {
			number++
			if line[0] == '%' && len(document) == 0 {
				continue // a directive of YAML
			}
			mark := string(bytes.TrimRight(line[:min(len(line), 4)], " \t\r\n"))
			if mark != "---" && mark != "..." {
				document = append(document, line...)
				continue
			}
			if !yield(first, document) {
				return
			}
			first, document = number, nil
			if mark == "---" {
				document = line[len(mark):len(line):len(line)]
			}
		}
		yield(first, document)
	}
}

// add reads the documents that affect the available packages. It ignores others, such
// as translations.
func (m *modules) add(d moduleDocument) error {
	switch d.Document {
	case "modulemd":
		if d.Version != 2 {
			return fmt.Errorf("version %d of modulemd is not supported", d.Version)
		}
		var b modstream.Build
		if err := d.Data.Decode(&b); err != nil {
			return err
		}
		if b.Name == "" || b.Stream == "" {
			return errors.New("it has no name or no stream")
		}
		m.builds = append(m.builds, b)
	case "modulemd-defaults":
		var b struct {
			Module string `yaml:"module"`
			Stream string `yaml:"stream"`
		}
		if err := d.Data.Decode(&b); err != nil {
			return err
		}
		if b.Stream != "" {
			m.defaults[b.Module] = b.Stream
		}
	}
	return nil
}
