package apiserver

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// The users. The name of a user is also its token: the server runs for one measurement
// only, on loopback.
const (
	Admin   = "own"     // prepares and changes the cluster
	Audited = "audited" // runs the measured program
)

// writeIdentity writes the list of users, and the key that signs tokens of service
// accounts.
func writeIdentity(dir string) error {
	var users strings.Builder
	for _, user := range []string{Admin, Audited} {
		fmt.Fprintf(&users, "%[1]s,%[1]s,%[1]s,\"system:masters\"\n", user)
	}
	if err := os.WriteFile(filepath.Join(dir, "tokens.csv"), []byte(users.String()), 0o600); err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "sa.key"), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600)
}

// Kubeconfig writes a kubeconfig for a user and returns its path.
func (s *Server) Kubeconfig(user string) (string, error) {
	const name = "bench"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: "https://" + s.addr, CertificateAuthority: s.CA()}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{Token: user}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: user}
	config.CurrentContext = name
	path := filepath.Join(s.dir, user+".kubeconfig")
	return path, clientcmd.WriteToFile(*config, path)
}
