package verify

import (
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// objectMeta is the identity of an object of which no more is kept than rules judge:
// what a cache asks of a metav1.Object, in a tenth of its size.
type objectMeta struct {
	metav1.Object // nil: nobody asks for anything else

	namespace, name, version string
}

func metaOf(o metav1.ObjectMeta) objectMeta {
	return objectMeta{namespace: once(o.Namespace), name: o.Name, version: o.ResourceVersion}
}

func (m *objectMeta) GetNamespace() string       { return m.namespace }
func (m *objectMeta) GetName() string            { return m.name }
func (m *objectMeta) GetResourceVersion() string { return m.version }

// title names the object in a finding.
func (m *objectMeta) title(kind string) string {
	if m.namespace == "" {
		return kind + " " + m.name
	}
	return kind + " " + m.namespace + "/" + m.name
}

// once has a text that thousands of objects share in memory one time only.
func once(s string) string { return unique.Make(s).Value() }
