package kubeadm

import (
	"embed"
	"encoding/json"
	"fmt"

	"airgap.dev/airgap/kubeadm/node"
)

// fieldLists are the fields of Kubernetes' configuration types, a file for each
// minor. e2e/upstream/fields writes them from the types themselves, since
// kubeadm's cannot be imported and those of three minors not at once.
//
//go:embed fields/*.json
var fieldLists embed.FS

// fieldList is what one minor reads.
type fieldList struct {
	// Types are the fields of each struct by name, each with its kind: "bool",
	// "[]string", "{}string" for a mapping, "v1.Taint" for another struct.
	Types map[string]map[string]string `json:"types"`
	Gates []string                     `json:"gates"` // feature gates of its programs, kubeadm's own apart
	// Arguments are the names that a program of the control plane takes. etcd,
	// whose versions are not those of Kubernetes, is not among them.
	Arguments map[node.Part][]string `json:"-"`
}

// The types that airgap.yaml has fields of.
const (
	kubeletType = "v1beta1.KubeletConfiguration"
	proxyType   = "v1alpha1.KubeProxyConfiguration"
	clusterType = "v1beta4.ClusterConfiguration"
	policyType  = "v1.Policy"
	jwtType     = "v1.JWTAuthenticator"
)

func fieldsOf(minor string) (fieldList, error) {
	var l fieldList
	if err := readList(minor+".json", &l); err != nil {
		return l, err
	}
	return l, readList(minor+"-arguments.json", &l.Arguments)
}

func readList(name string, into any) error {
	text, err := fieldLists.ReadFile("fields/" + name)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("read the list %s: %w", name, err)
	}
	return nil
}
