package jointoken

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/httpclient"
	"airgap.dev/airgap/internal/validity"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/node"
)

// JoinConf is the kubeconfig file with the node certificate with which a host joins. The key is
// saved before the certificate is requested, so that an interrupted join can continue with it. The
// kubelet gets its own key later.
const JoinConf = host.StateDir + "/join.conf"

// credential is the content of JoinConf.
type credential struct {
	node             string
	key, certificate []byte // PEM; the certificate is nil until the cluster has signed it
}

func newCredential(node string) (credential, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return credential{}, err
	}
	key, err := keyutil.MarshalPrivateKeyToPEM(private)
	return credential{node: node, key: key}, err
}

// request creates the certificate signing request.
func (c credential) request() ([]byte, error) {
	key, err := keyutil.ParsePrivateKeyPEM(c.key)
	if err != nil {
		return nil, err
	}
	return cert.MakeCSR(key, node.Subject(c.node), nil, nil)
}

// signed reports whether the credential has a valid certificate.
func (c credential) signed() bool {
	pair, err := tls.X509KeyPair(c.certificate, c.key)
	return err == nil && validity.Of(pair.Leaf).Left(time.Now()) > 0
}

// loadCredential returns the credential of an earlier run for this node and cluster, or a new one.
func loadCredential(m host.Machine, node string, to JoinMaterial) (credential, error) {
	text, err := os.ReadFile(m.Path(JoinConf))
	if err != nil {
		if err := host.IgnoreMissing(err); err != nil {
			return credential{}, err
		}
		return newCredential(node)
	}
	config, err := clientcmd.Load(text)
	if err != nil {
		return newCredential(node)
	}
	cluster, user := config.Clusters[joinContext], config.AuthInfos[nodeUser+node]
	if cluster == nil || user == nil || string(cluster.CertificateAuthorityData) != to.CA {
		return newCredential(node)
	}
	c := credential{node, user.ClientKeyData, user.ClientCertificateData}
	if _, err := keyutil.ParsePrivateKeyPEM(c.key); err != nil || c.certificate != nil && !c.signed() {
		return newCredential(node)
	}
	return c, nil
}

const joinContext = "airgap-join"

func saveCredential(m host.Machine, c credential, to JoinMaterial) error {
	text, err := clientcmd.Write(clientcmdapi.Config{
		CurrentContext: joinContext,
		Contexts:       map[string]*clientcmdapi.Context{joinContext: {Cluster: joinContext, AuthInfo: nodeUser + c.node}},
		Clusters:       map[string]*clientcmdapi.Cluster{joinContext: {Server: "https://" + to.APIServer, CertificateAuthorityData: []byte(to.CA)}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{nodeUser + c.node: {ClientKeyData: c.key, ClientCertificateData: c.certificate}},
	})
	if err != nil {
		return fmt.Errorf("write %s: %w", JoinConf, err)
	}
	return host.WriteFile(m.Path(JoinConf), text, 0o600)
}

// RemoveJoinConf deletes JoinConf, with the key of this host's join.
func RemoveJoinConf(m host.Machine) error { return host.Remove(m.Path(JoinConf)) }

// client returns a client with the node's certificate.
func (c credential) client(to JoinMaterial) (kubernetes.Interface, error) {
	config := to.rest()
	config.CertData, config.KeyData = c.certificate, c.key
	return kubernetes.NewForConfig(config)
}

// rest is the configuration of a client for the cluster's endpoint without credentials.
func (j JoinMaterial) rest() *rest.Config {
	config := &rest.Config{
		Host: "https://" + j.APIServer, Timeout: 10 * time.Second, Proxy: kube.Direct,
		QPS: 50, Burst: 50, // a host can read each node of a large cluster before it joins
		TLSClientConfig: rest.TLSClientConfig{CAData: []byte(j.CA)},
	}
	config.Wrap(kube.CloseIdle)
	config.Wrap(httpclient.Stay)
	return config
}
