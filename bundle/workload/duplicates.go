package workload

import (
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"
	k8syaml "sigs.k8s.io/yaml"
)

const (
	maxDuplicates = 10  // notices about one document
	maxPath       = 200 // bytes of the path to a key, approximately
)

// DuplicateKeys returns notices about keys that appear more than once in a document.
func (d Document) DuplicateKeys() []string {
	if _, err := k8syaml.YAMLToJSONStrict(d.Text); err != nil {
		return d.duplicates(err)
	}
	return nil
}

// duplicates returns notices about keys that appear more than once in a document. If it
// finds none, it returns strict, the error of the strict parser.
func (d Document) duplicates(strict error) []string {
	var root yaml.Node
	var found []string
	if yaml.Unmarshal(d.Text, &root) == nil {
		walkKeys(&root, "", func(n *yaml.Node, path string) {
			found = append(found, fmt.Sprintf("%s, line %d: key %s appears more than once; the last one counts, as in Helm and kubectl", d.At(), d.Line+n.Line-1, path))
		})
	}
	if len(found) == 0 {
		return []string{fmt.Sprintf("%s: %v; the last one counts, as in Helm and kubectl", d.At(), oneLine(strict))}
	}
	if n := len(found) - maxDuplicates; n > 0 {
		found = append(found[:maxDuplicates], fmt.Sprintf("%s: %d more keys appear more than once", d.At(), n))
	}
	return found
}

// walkKeys calls report with each duplicate key of a mapping. It does not follow aliases,
// because their anchors are in the document.
func walkKeys(n *yaml.Node, path string, report func(key *yaml.Node, path string)) {
	if n.Kind != yaml.MappingNode {
		for _, child := range n.Content {
			walkKeys(child, path, report)
		}
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		at := path
		if len(at) < maxPath {
			at = strings.TrimPrefix(path+"."+key.Value, ".")
		}
		if key.Kind == yaml.ScalarNode && seen[key.Value] {
			report(key, at)
		}
		seen[key.Value] = true
		walkKeys(n.Content[i+1], at, report)
	}
}
