package kubeadm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"airgap.dev/airgap/internal/overlay"
	"airgap.dev/airgap/kubeadm/node"
)

// Benchmark is the source of the numbers of Controls.
const Benchmark = "CIS Kubernetes Benchmark 1.12"

// Control is one setting of the compliance baseline, with its expected value, the program that
// sets it, and the reason.
type Control struct {
	ID   string    `json:"id"`   // in the Benchmark; "-" for none
	Part node.Part `json:"part"` // program or kind of file with the setting
	Name string    `json:"name"` // of a flag; of a field, with dots; pattern of files
	Test Test      `json:"test"`
	Want any       `json:"want,omitempty"`
	By   By        `json:"by"`
	Why  string    `json:"why"`
	// Setting is the field of airgap.yaml with the value, if it is outside of
	// kubernetes.overrides.
	Setting string `json:"setting,omitempty"`
}

// Parts that are not programs. Package node has the programs.
const (
	Contents node.Part = "contents" // of the files in the API server's arguments
	Files    node.Part = "files"
)

// Test is the comparison of the value on a host with the expected value.
type Test string

// Values of Test.
const (
	Is       Test = "is"
	Includes Test = "includes" // the list contains the value
	Set      Test = "is set"   // with any value
	Unset    Test = "is not set"
	Default  Test = "is left at" // set to the value, or not set, which has the same effect
	AtMost   Test = "at most"    // mode of files; root must own them
	Lacks    Test = "lacks"      // the list does not contain the value
	Says     Test = "says"       // content of a file, described in words
)

// By is the program that sets the value of a Control.
type By string

// Values of By.
const (
	ByAirgap  By = "airgap"  // kubeadm does not set it
	ByKubeadm By = "kubeadm" // airgap only checks it
	ByDefault By = "default" // of the program itself; airgap only checks it
)

// Controls returns the complete baseline of a cluster: the settings of airgap, and those that
// kubeadm and the programs already have. airgap writes its own into kubeadm's configuration and
// checks all of them. docs/compliance.md is made from the list.
func Controls(c Config) []Control {
	return slices.Concat(apiServerControls(c), controllerManagerControls(), schedulerControls(), etcdControls(), kubeletControls(), contentControls(c), fileControls(c))
}

// fipsSuites are the TLS 1.2 cipher suites with forward secrecy and NIST-approved algorithms.
// Go has no setting for the suites of TLS 1.3.
func fipsSuites() []string {
	return []string{
		"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
		"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
	}
}

const (
	whySuites = "the default offers suites without forward secrecy; all algorithms of these suites are FIPS-approved"
	whyTLS    = "TLS 1.0 and 1.1 are broken; 1.3 alone would lock out older systems of a bank"
)

// baselineArgs are the baseline's arguments of a component, in the form of kubeadm's
// extraArgs.
func baselineArgs(c Config, part node.Part) []any {
	var args []any
	for _, control := range Controls(c) {
		if control.Part == part && control.By == ByAirgap {
			args = append(args, object{"name": control.Name, "value": control.want()})
		}
	}
	return args
}

// baseline is the part of ClusterConfiguration with the baseline's settings.
func baseline(c Config) object {
	o := object{
		"apiServer":         object{"extraArgs": baselineArgs(c, node.APIServer), "extraVolumes": apiServerVolumes(c)},
		"controllerManager": object{"extraArgs": baselineArgs(c, node.ControllerManager)},
		"scheduler":         object{"extraArgs": baselineArgs(c, node.Scheduler)},
	}
	if envs := policyEnv(c); envs != nil {
		o["apiServer"].(object)["extraEnvs"] = envs
	}
	if !c.externalEtcd() {
		o["etcd"] = object{"local": object{"extraArgs": append(baselineArgs(c, node.Etcd), c.Etcd.args()...)}}
	}
	return o
}

// baselineKubelet are the fields of KubeletConfiguration with the baseline's settings.
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

// want is the expected value as text, for an argument and for the report.
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
