package kubeadm

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"airgap.dev/airgap/internal/reference"
	"airgap.dev/airgap/kubeadm/encryption"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/kubeadm/process"
	"airgap.dev/airgap/kubeadm/release"
)

// Identity describes a cluster according to the files of a control-plane host. A cluster that is
// restored from its data must have the same values.
type Identity struct {
	Node          string `json:"node"`       // the host's own
	Version       string `json:"kubernetes"` // without the v
	Endpoint      string `json:"endpoint"`   // HOST:PORT of the API servers
	PodSubnet     string `json:"podSubnet"`
	ServiceSubnet string `json:"serviceSubnet"`
	Encrypted     bool   `json:"encrypted"` // Secrets in etcd are encrypted
}

// ReadIdentity reads the Identity from kubeadm's manifests and kubeconfig file. read returns a
// file by its path on the host.
func ReadIdentity(read func(path string) ([]byte, error)) (Identity, error) {
	id, err := readIdentity(read)
	if err != nil {
		return id, fmt.Errorf("read the cluster's identity: %w", err)
	}
	return id, nil
}

func readIdentity(read func(string) ([]byte, error)) (id Identity, err error) {
	api, err := readManifest(read, node.APIServer)
	if err != nil {
		return id, err
	}
	manager, err := readManifest(read, node.ControllerManager)
	if err != nil {
		return id, err
	}
	etcd, err := readManifest(read, node.Etcd)
	if err != nil {
		return id, err
	}
	id = Identity{
		Node: etcd.flags["name"], Version: strings.TrimPrefix(api.tag, "v"),
		PodSubnet: manager.flags["cluster-cidr"], ServiceSubnet: api.flags["service-cluster-ip-range"],
		Encrypted: api.flags["encryption-provider-config"] != "",
	}
	id.Endpoint, err = readEndpoint(read)
	return id, err
}

// staticPodFile is the content of a static pod's manifest.
type staticPodFile struct {
	tag   string // of its image
	flags map[string]string
}

func readManifest(read func(string) ([]byte, error), part node.Part) (staticPodFile, error) {
	text, err := read(node.ManifestOf(part))
	if err != nil {
		return staticPodFile{}, err
	}
	var pod corev1.Pod
	if err := yaml.Unmarshal(text, &pod); err != nil || len(pod.Spec.Containers) == 0 {
		return staticPodFile{}, errors.Join(fmt.Errorf("%s is not the manifest of a static pod", node.ManifestOf(part)), err)
	}
	c := pod.Spec.Containers[0]
	return staticPodFile{reference.TagOf(c.Image), process.Flags(c.Command)}, nil
}

func readEndpoint(read func(string) ([]byte, error)) (string, error) {
	text, err := read(kube.AdminConf)
	if err != nil {
		return "", err
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(text)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", kube.AdminConf, err)
	}
	return strings.TrimPrefix(config.Host, "https://"), nil
}

// Matches returns nil if a cluster with this configuration can use the data of the identified
// cluster. The error names all differences.
func (i Identity) Matches(c Config) error {
	var differs []error
	compare := func(what, was, is string) {
		if was != is {
			differs = append(differs, fmt.Errorf("%s was %s, and is %s in airgap.yaml", what, was, is))
		}
	}
	compare("the API's address", i.Endpoint, c.ControlPlaneEndpoint)
	compare("the pod network", i.PodSubnet, c.PodSubnet)
	compare("the Service network", i.ServiceSubnet, c.ServiceSubnet)
	compare("encryption of Secrets", onOrOff(i.Encrypted), onOrOff(c.EncryptionAtRest != encryption.NoEncryption))
	return errors.Join(append(differs, i.fits(c.Version), ownEtcd(c))...)
}

func onOrOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// fits requires the same minor version: only an upgrade can move the data to another one.
func (i Identity) fits(want string) error {
	was, err := version.ParseGeneric(i.Version)
	if err != nil {
		return fmt.Errorf("read the version of Kubernetes: %w", err)
	}
	is, err := version.ParseGeneric(want)
	if err != nil {
		return err
	}
	if release.Line(was) != release.Line(is) {
		return fmt.Errorf("the version of Kubernetes was %s, and is %s: restore with a bundle of %s, then upgrade", was, is, release.Line(was))
	}
	return nil
}

// ownEtcd refuses an external etcd, and one with its data outside of kubeadm's default directory.
func ownEtcd(c Config) error {
	etcd, _ := c.Overrides.ClusterConfiguration["etcd"].(map[string]any)
	local, _ := etcd["local"].(map[string]any)
	if dir, is := local["dataDir"]; etcd["external"] != nil || is && dir != node.EtcdDir {
		return errors.New("airgap.yaml configures another etcd (kubernetes.overrides.clusterConfiguration.etcd), which airgap does not restore")
	}
	return nil
}
