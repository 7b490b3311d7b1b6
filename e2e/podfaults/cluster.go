package podfaults

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"airgap.dev/airgap/e2e/apiserver"
	"airgap.dev/airgap/e2e/lab"
)

// The names and the port are those of the DaemonSet in manifests/data-plane.yaml.
const (
	namespace = "airgap-system"
	name      = "data-plane"
	nameLabel = "app.kubernetes.io/name"
	podPort   = 8080
)

// hosts is the number of nodes: node1 and node2 in one rack, the others in another one.
const hosts = 8

// cluster is a network between nodes with a data-plane pod on each. The API server is real, but
// nothing else of Kubernetes runs: the pods use the network of their node.
type cluster struct {
	probe  string // program of the pods
	racks  *lab.Racks
	etcd   *apiserver.Etcd
	server *apiserver.Server
	client kubernetes.Interface

	service  netip.Addr
	nodePort int32
}

// start starts the cluster. bin has the lab's programs.
func start(ctx context.Context, probe, bin, dir string) (_ *cluster, err error) {
	c := &cluster{probe: probe}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("start a cluster: %w", err), c.end())
		}
	}()
	if c.racks, err = lab.NewRacks(ctx, lab.Plan{Shape: lab.TwoPaths, Hosts: hosts}, dir); err != nil {
		return nil, err
	}
	if c.etcd, err = apiserver.StartEtcd(ctx, bin, dir); err != nil {
		return nil, err
	}
	if c.server, err = apiserver.Start(ctx, bin, dir, c.etcd); err != nil {
		return nil, err
	}
	if c.client, err = c.server.Client(); err != nil {
		return nil, err
	}
	for _, step := range []func(context.Context) error{c.createObjects, c.firewall, c.createServices, c.runPods} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *cluster) end() error {
	var err error
	if c.racks != nil {
		err = c.racks.Close()
	}
	if c.server != nil {
		c.server.End()
	}
	if c.etcd != nil {
		c.etcd.End()
	}
	return err
}

// createObjects creates the nodes, the pods and the Service, as the controllers and kubelets would.
func (c *cluster) createObjects(ctx context.Context) error {
	core, labels, now := c.client.CoreV1(), map[string]string{nameLabel: name}, metav1.Now()
	ready := true
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: name}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Port: new(int32(podPort))}},
	}
	_, err := core.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	errs := []error{err}
	for i := 1; i <= hosts; i++ {
		node, addr := lab.Node(i), c.racks.Addr(i).String()
		_, err := core.Nodes().Create(ctx, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: node, Labels: map[string]string{corev1.LabelOSStable: "linux"}},
			Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
		}, metav1.CreateOptions{})
		pod, errPod := core.Pods(namespace).Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: podOn(node), Labels: labels},
			Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: name, Image: "registry.example/airgap-probe:1"}}},
		}, metav1.CreateOptions{})
		if err := errors.Join(err, errPod); err != nil {
			return err
		}
		pod.Status = corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: addr, PodIPs: []corev1.PodIP{{IP: addr}}, StartTime: &now,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		}
		_, err = core.Pods(namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
		errs = append(errs, err)
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{addr}, NodeName: &node, Conditions: discoveryv1.EndpointConditions{Ready: &ready}})
	}
	_, err = c.client.DiscoveryV1().EndpointSlices(namespace).Create(ctx, slice, metav1.CreateOptions{})
	service, errService := core.Services(namespace).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Selector: labels, Ports: []corev1.ServicePort{{Port: 80}}},
	}, metav1.CreateOptions{})
	if err := errors.Join(append(errs, err, errService)...); err != nil {
		return err
	}
	c.nodePort = service.Spec.Ports[0].NodePort
	c.service, err = netip.ParseAddr(service.Spec.ClusterIP)
	return err
}

func podOn(node string) string { return name + "-" + node }

// createServices gives each node the rules of kube-proxy and the names of CoreDNS.
func (c *cluster) createServices(ctx context.Context) error {
	var ends []string
	for i := range hosts {
		ends = append(ends, fmt.Sprintf("%d : $%s", i, lab.Node(i+1)))
	}
	rules := fmt.Sprintf(`table ip proxy {
	chain services {
		ip daddr %s tcp dport 80 dnat to numgen inc mod %d map { %s } : %d
		fib daddr type local tcp dport %d redirect to :%d
	}
	chain prerouting {
		type nat hook prerouting priority -100
		jump services
	}
	chain output {
		type nat hook output priority -100
		jump services
	}
}
`, c.service, hosts, strings.Join(ends, ", "), podPort, c.nodePort, podPort)
	for i := 1; i <= hosts; i++ {
		node := lab.Node(i)
		if err := errors.Join(c.racks.NFT(ctx, node, rules),
			c.racks.Alias(node, c.service, name+"."+namespace+".svc"), c.racks.Alias(node, c.racks.Addr(1), "kubernetes.default.svc")); err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) runPods(ctx context.Context) error {
	for i := 1; i <= hosts; i++ {
		node := lab.Node(i)
		// Like the DaemonSet.
		env := []string{"POD_NAME=" + podOn(node), "NODE_NAME=" + node, "HOST_IP=" + c.racks.Addr(i).String(), "GOMEMLIMIT=64MiB", "GOMAXPROCS=1"}
		if err := c.racks.RunPod(ctx, node, lab.Pod{Program: c.probe, Env: env, APIServer: c.server.Addr(), CA: c.server.CA(), Token: apiserver.Admin}); err != nil {
			return err
		}
	}
	return nil
}

// kubeconfig returns the file of a user who runs airgap verify.
func (c *cluster) kubeconfig() (string, error) { return c.server.Kubeconfig(apiserver.Audited) }
