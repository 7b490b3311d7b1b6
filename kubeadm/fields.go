package kubeadm

import (
	"embed"
	"encoding/json"
	"fmt"

	"airgap.dev/airgap/kubeadm/node"
)

// fieldLists has the fields of Kubernetes' configuration types, with one file for each minor
// version. e2e/upstream/fields writes them from the types: kubeadm's types cannot be imported,
// and one program cannot import the types of three minors.
//
//go:embed fields/*.json
var fieldLists embed.FS

// fieldList has the fields, feature gates and arguments of one minor version.
type fieldList struct {
	// Types maps each struct to its fields, and each field to its kind: "bool", "[]string",
	// "{}string" for a mapping, "v1.Taint" for another struct.
	Types map[string]map[string]string `json:"types"`
	Gates []string                     `json:"gates"` // feature gates of its programs, without kubeadm's
	// Arguments are the argument names of each control-plane program, without etcd, which has
	// its own versions.
	Arguments map[node.Part][]string `json:"-"`
}

// The types with fields in airgap.yaml.
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
