package install

import (
	"fmt"
	"strings"

	"k8s.io/client-go/rest"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/program"
	"airgap.dev/airgap/cluster/nodesteps"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/verify/dataplane"
	"airgap.dev/airgap/verify/dataplane/deploy"
)

// dataPlaneStep deploys the pods that test the pod network.
func dataPlaneStep(s *site.Site) step.Step {
	etcd := dataplane.Etcd{Election: s.Config.Kubernetes.ElectionTimeout()}
	for _, n := range s.Config.ControlPlanes() {
		etcd.Members = append(etcd.Members, n.Name)
	}
	return deploy.Step(
		func() (string, error) { return probeImageOf(s.Index.Lock) },
		nodesteps.HostPort(s), etcd,
		func() (*rest.Config, error) { return kube.RESTConfig(s.Machine.Machine, kube.AdminConf) })
}

// probeImageOf is the image of airgap-probe in a lock, by tag and by digest.
func probeImageOf(l bundle.Lock) (string, error) {
	for _, i := range l.Images {
		if strings.HasPrefix(i.Name, program.ProbeRepository+":") {
			return i.Name + "@" + i.Digest, nil
		}
	}
	return "", advice.Add(fmt.Errorf("find the image %s: the bundle does not have it", program.ProbeRepository), "make the bundle again with this airgap")
}
