package kubeadm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"airgap.dev/airgap/internal/overlay"
	"airgap.dev/airgap/kubeadm/node"
)

// Benchmark is what the numbers of Controls are from.
const Benchmark = "CIS Kubernetes Benchmark 1.12"

// Control is one setting of the compliance baseline: what it has to be, who
// sees to it, and why.
type Control struct {
	ID   string    `json:"id"`   // in the Benchmark; "-" where it has none
	Part node.Part `json:"part"` // what the setting belongs to
	Name string    `json:"name"` // of a flag; of a field, with dots; pattern of files
	Test Test      `json:"test"`
	Want any       `json:"want,omitempty"`
	By   By        `json:"by"`
	Why  string    `json:"why"`
	// Setting is the field of airgap.yaml that decides it, where it is not in
	// kubernetes.overrides.
	Setting string `json:"setting,omitempty"`
}

// The programs, by the names of their processes, and files.
const (
	Contents node.Part = "contents" // of files that the API server's arguments name
	Files    node.Part = "files"
)

// Test is how what was found is compared with what is wanted.
type Test string

// The ways to compare.
const (
	Is       Test = "is"
	Includes Test = "includes"   // a list that has it
	Set      Test = "is set"     // whatever the value
	Unset    Test = "is not set" // at all
	Default  Test = "is left at" // set to it, or not set, which is the same
	AtMost   Test = "at most"    // a mode, of files that are root's
	Lacks    Test = "lacks"      // a list that does not have it
	Says     Test = "says"       // what a file has to say, in words
)

// By says who sees to a Control.
type By string

// Where a value comes from.
const (
	ByAirgap  By = "airgap"  // kubeadm leaves it open
	ByKubeadm By = "kubeadm" // read back only
	ByDefault By = "default" // of the program itself; read back only
)

// Controls is the whole baseline of a cluster: what airgap sets, and what
// kubeadm and the programs themselves see to already. It is what is written
// into kubeadm's configuration, what is read back, and docs/compliance.md.
func Controls(c Config) []Control {
	return slices.Concat(apiServerControls(c), controllerManagerControls(), schedulerControls(), etcdControls(), kubeletControls(), contentControls(c), fileControls(c))
}

// fipsSuites are the cipher suites of TLS 1.2 with forward secrecy whose parts
// NIST approves. Those of TLS 1.3 cannot be chosen in Go.
func fipsSuites() []string {
	return []string{
		"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
		"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
	}
}

const (
	whySuites = "without it suites without forward secrecy are offered; of those left every algorithm is FIPS-approved"
	whyTLS    = "TLS 1.0 and 1.1 are broken; 1.3 alone would lock out what a bank still runs"
)

// baselineArgs are the arguments that the baseline gives a component, in the
// form of kubeadm's extraArgs.
func baselineArgs(c Config, part node.Part) []any {
	var args []any
	for _, control := range Controls(c) {
		if control.Part == part && control.By == ByAirgap {
			args = append(args, object{"name": control.Name, "value": control.want()})
		}
	}
	return args
}

// baseline is the part of ClusterConfiguration that is due to the baseline.
func baseline(c Config) object {
	o := object{
		"apiServer":         object{"extraArgs": baselineArgs(c, node.APIServer), "extraVolumes": apiServerVolumes(c)},
		"controllerManager": object{"extraArgs": baselineArgs(c, node.ControllerManager)},
		"scheduler":         object{"extraArgs": baselineArgs(c, node.Scheduler)},
	}
	if envs := policyEnv(c); envs != nil {
		o["apiServer"].(object)["extraEnvs"] = envs
	}
	if etcd, _ := c.Overrides.ClusterConfiguration["etcd"].(map[string]any); etcd["external"] == nil {
		o["etcd"] = object{"local": object{"extraArgs": baselineArgs(c, node.Etcd)}}
	}
	return o
}

// baselineKubelet are the fields of KubeletConfiguration that are due to it.
func baselineKubelet(c Config) object {
	fields := object{}
	for _, control := range Controls(c) {
		if control.Part == node.Kubelet && control.By == ByAirgap {
			fields = overlay.Merge(fields, nested(strings.Split(control.Name, "."), control.Want))
		}
	}
	return fields
}

func nested(path []string, value any) object {
	if len(path) == 1 {
		return object{path[0]: value}
	}
	return object{path[0]: nested(path[1:], value)}
}

// want is the wanted value as an argument, and for people.
func (c Control) want() string { return text(c.Want) }

func text(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case []string:
		return strings.Join(v, ",")
	case []any:
		words := make([]string, len(v))
		for i := range v {
			words[i] = fmt.Sprint(v[i])
		}
		return strings.Join(words, ",")
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64) // a whole number in JSON
	}
	return fmt.Sprint(value)
}
