package kubeadm

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestSameVersion(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nspec: {containers: [{name: kube-apiserver, image: %q}]}\n"
	for name, tc := range map[string]struct {
		state, image, want string
		refused            bool
	}{
		"no node yet":  {"", "registry.k8s.io/kube-apiserver:v1.35.8", "1.36.3", false},
		"interrupted":  {"began\n", "registry.k8s.io/kube-apiserver:v1.35.8", "1.36.3", false},
		"the same":     {"ended\n", "registry.k8s.io/kube-apiserver:v1.36.3", "1.36.3", false},
		"by digest":    {"ended\n", "10.0.0.11:5000/kube-apiserver:v1.36.3@sha256:00", "1.36.3", false},
		"another one":  {"ended\n", "registry.k8s.io/kube-apiserver:v1.35.8", "1.36.3", true},
		"an older one": {"ended\n", "registry.k8s.io/kube-apiserver:v1.36.3", "1.36.2", true},
	} {
		t.Run(name, func(t *testing.T) {
			f, m := newFake(t)
			if tc.state != "" {
				f.put(t, stateFile, tc.state)
			}
			f.put(t, manifestOf(APIServer), fmt.Sprintf(pod, tc.image))
			err := SameVersion(m, Config{Version: tc.want})
			failure, _ := errors.AsType[*Failure](err)
			if (err != nil) != tc.refused || tc.refused && !strings.Contains(failure.Hint(), "airgap upgrade DIR") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestSameEndpoint(t *testing.T) {
	f, m := newFake(t)
	f.put(t, stateFile, "ended\n")
	f.put(t, AdminConf, "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: c}}]\nclusters: [{name: c, cluster: {server: 'https://10.0.0.5:6443'}}]\n")
	if err := SameEndpoint(m, Config{ControlPlaneEndpoint: "10.0.0.5:6443"}); err != nil {
		t.Error(err)
	}
	err := SameEndpoint(m, Config{ControlPlaneEndpoint: "10.0.0.6:6443"})
	if failure, is := errors.AsType[*Failure](err); !is || !strings.Contains(failure.Hint(), "10.0.0.5:6443") {
		t.Errorf("got %v", err)
	}
}
