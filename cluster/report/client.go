package report

import (
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/kubeadm/kube"
)

// Client has the identity of the kubelet. The certificate is renewed in its file,
// which client-go reads again each five minutes.
func (s Settings) Client() (client dynamic.Interface, hangUp func(), err error) {
	config, err := kube.Kubeconfig(kube.KubeletConf)
	if err != nil {
		return nil, nil, err
	}
	if s.APIServer != "" {
		config.Host = "https://" + s.APIServer
	}
	config.Timeout = 10 * time.Second
	connection, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, nil, err
	}
	client, err = dynamic.NewForConfigAndClient(config, connection)
	return client, func() { utilnet.CloseIdleConnectionsFor(connection.Transport) }, err
}
