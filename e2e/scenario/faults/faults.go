// Package faults breaks a cluster in two dozen ways. airgap verify must name each of them.
package faults

import (
	"context"
	"errors"
	"time"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
)

// Fault is one way to break a cluster, with the finding of verify that must name it.
type Fault struct {
	name              string
	inject, repair    func(context.Context) error
	rule, object, saw string        // the rule, and parts of the texts of its finding
	within            time.Duration // the time until the finding; 0 is foundWithin
}

// On returns a fault that shell scripts on a server inject and repair.
func On(e *scenario.Env, m lab.Machine, name, inject, repair, rule, object, saw string) Fault {
	run := func(lines string) func(context.Context) error {
		return func(ctx context.Context) error { return e.Script(ctx, m, lines) }
	}
	return Fault{name: name, inject: run(inject), repair: run(repair), rule: rule, object: object, saw: saw}
}

// slowly returns the fault with a longer time until the finding.
func (f Fault) slowly(within time.Duration) Fault {
	f.within = within
	return f
}

// thenAlso returns the fault with a second part of the repair.
func (f Fault) thenAlso(repair func(context.Context) error) Fault {
	before := f.repair
	f.repair = func(ctx context.Context) error {
		if err := before(ctx); err != nil {
			return err
		}
		return repair(ctx)
	}
	return f
}

// newHostPorts deletes the pod with a hostPort on node4: the rules come back with the new pod.
func newHostPorts(e *scenario.Env, first lab.Machine) func(context.Context) error {
	return func(ctx context.Context) error {
		return e.Script(ctx, first, scenario.Kubectl+"-n airgap-system delete pod -l app.kubernetes.io/name=data-plane --field-selector spec.nodeName=node4")
	}
}

// faults returns at least one fault for each rule that the lab can break.
func faults(e *scenario.Env, l *lab.Lab) []Fault {
	all := hostFaults(e, l)
	all = append(all, controlPlaneFaults(e, l)...)
	all = append(all, networkFaults(e, l)...)
	return append(all, clusterFaults(e, l)...)
}

// hostFaults returns the faults that only the report of their host can show.
func hostFaults(e *scenario.Env, l *lab.Lab) []Fault {
	first, worker := l.Machines[0], l.Machines[3]
	return []Fault{
		On(e, worker, "the kubelet is stopped", "systemctl stop kubelet", "systemctl start kubelet", "units", "Node node4, kubelet.service", "inactive"),
		On(e, worker, "the timer that renews certificates is off", "systemctl stop airgap-certs-renew.timer", "systemctl start airgap-certs-renew.timer", "units", "Node node4, airgap-certs-renew.timer", "inactive"),
		On(e, worker, "a kubelet does not renew its lease", "systemctl stop kubelet", "systemctl start kubelet", "node-leases", "Node node4", "not renewed"),
		On(e, worker, "the kubelet's file has another cgroup driver",
			"sed -i.was 's/^cgroupDriver: .*/cgroupDriver: cgroupfs/' /var/lib/kubelet/config.yaml", "mv /var/lib/kubelet/config.yaml.was /var/lib/kubelet/config.yaml",
			"cgroups", "Node node4", "configuration file has cgroupfs"),
		On(e, worker, "a kernel parameter is changed", "sysctl -qw net.ipv4.ip_forward=0", "sysctl -qw net.ipv4.ip_forward=1", "sysctls", "net.ipv4.ip_forward", "0"),
		On(e, worker, "firewalld is started by another team", "systemctl start firewalld"+reportNow, "systemctl stop firewalld"+reportNow, "host-network", "Node node4, firewalld", "without airgap's openings").
			slowly(3 * time.Minute).thenAlso(newHostPorts(e, first)), // EL 8's firewalld flushes the rules of hostPort
		On(e, worker, "swap returns to fstab", "echo '/swap.lab none swap defaults 0 0' >>/etc/fstab"+reportNow, "sed -i '/^.swap.lab /d' /etc/fstab"+reportNow,
			"next-boot", "Node node4, swap", "the next boot turns on /swap.lab").slowly(3 * time.Minute),
		On(e, worker, "a package loses its lock", "sed -i.was /^kubelet-/d "+versionlock+reportNow, "mv "+versionlock+".was "+versionlock+reportNow, "packages", "Node node4", "kubelet"),
		On(e, worker, "a program of airgap is changed", "cp -p /usr/bin/kubeadm /run/kubeadm; echo >>/usr/bin/kubeadm"+reportNow, "cp -p /run/kubeadm /usr/bin/kubeadm"+reportNow, "packages", "Node node4", "/usr/bin/kubeadm"),
		On(e, worker, "the report's unit is stopped", "systemctl stop airgap-node-report", "systemctl start airgap-node-report", "node-reports", "NodeReport node4", "no update since").slowly(5 * time.Minute),
		On(e, first, "a certificate expires in five days", expiring, "mv /etc/kubernetes/pki/front-proxy-client.crt.was /etc/kubernetes/pki/front-proxy-client.crt",
			"certificates", "front-proxy-client.crt", "ends in 4 days"),
		On(e, first, "the registry is stopped", "systemctl stop airgap-registry", "systemctl start airgap-registry", "registry-reach", "from node4", "refused"),
	}
}

const (
	versionlock = "/etc/dnf/plugins/versionlock.list"
	reportNow   = "; systemctl restart airgap-node-report" // it checks packages only every ten minutes
)

// expiring replaces a certificate of the cluster by one of the same CA that expires soon.
const expiring = `cd /etc/kubernetes/pki && cp -p front-proxy-client.crt front-proxy-client.crt.was &&
openssl req -new -key front-proxy-client.key -subj /CN=front-proxy-client 2>/dev/null |
openssl x509 -req -CA front-proxy-ca.crt -CAkey front-proxy-ca.key -set_serial 99 -days 5 2>/dev/null >/run/soon.crt &&
cat /run/soon.crt >front-proxy-client.crt && rm /run/soon.crt`

func controlPlaneFaults(e *scenario.Env, l *lab.Lab) []Fault {
	second, third := l.Machines[1], l.Machines[2]
	remove := func(component string) string {
		return "mv /etc/kubernetes/manifests/" + component + ".yaml /etc/kubernetes/"
	}
	restore := func(component string) string {
		return "mv /etc/kubernetes/" + component + ".yaml /etc/kubernetes/manifests/"
	}
	// A watch behind the load balancer loses at most one stream. The fault expects the finding about
	// the pod of the last host, because between two restarts the cluster is healthy. The kubelet
	// reports each restart of a container; the node report of rule api-servers can miss an outage of
	// a few seconds.
	restart := Fault{
		name: "every API server is restarted, one at a time", rule: "control-plane", object: "Pod kube-system/kube-apiserver-" + third.Name(),
		inject: func(ctx context.Context) error {
			for _, m := range l.Machines[:3] {
				if err := e.Script(ctx, m, "pkill -KILL -x kube-apiserver; i=0; until curl -sk https://127.0.0.1:6443/readyz | grep -qx ok; do i=$((i+1)); [ $i -lt 120 ] || exit 1; sleep 1; done"); err != nil {
					return err
				}
			}
			return nil
		},
		repair: func(context.Context) error { return nil },
	}
	return []Fault{
		On(e, second, "a host's backups are gone", "mv /var/lib/airgap/backup /root/backup", "mv /root/backup /var/lib/airgap/backup", "etcd", "etcd on node2", "no backup"),
		On(e, second, "a backup is from the future", "cd /var/lib/airgap/backup && cp -a $(ls | tail -n 1) 20990101T000000Z", "rm -r /var/lib/airgap/backup/20990101T000000Z", "etcd", "etcd on node2", "from the future"),
		On(e, third, "an API server is stopped", remove("kube-apiserver"), restore("kube-apiserver"), "api-servers", "API server on node3", "connection refused"),
		On(e, third, "a member of etcd is stopped", remove("etcd"), restore("etcd"), "etcd", "etcd on node3", ""),
		On(e, second, "a scheduler is stopped", remove("kube-scheduler"), restore("kube-scheduler"), "control-plane", "kube-scheduler-node2", "does not exist"),
		{
			name: "no scheduler is left", rule: "leaders", object: "Lease kube-system/kube-scheduler", saw: "leader", // no leader exists, or it does not renew its lease
			inject: func(ctx context.Context) error { return everywhere(ctx, e, l.Machines[:3], remove("kube-scheduler")) },
			repair: func(ctx context.Context) error { return everywhere(ctx, e, l.Machines[:3], restore("kube-scheduler")) },
		},
		restart,
	}
}

func everywhere(ctx context.Context, e *scenario.Env, machines []lab.Machine, lines string) error {
	var errs []error
	for _, m := range machines {
		errs = append(errs, e.Script(ctx, m, lines))
	}
	return errors.Join(errs...)
}

// withoutRegistries runs lines while all registries are stopped: a running one would send
// the lost images to the others.
func withoutRegistries(ctx context.Context, e *scenario.Env, machines []lab.Machine, lines string) error {
	for _, phase := range []string{"systemctl stop airgap-registry", lines, "systemctl start airgap-registry"} {
		if err := everywhere(ctx, e, machines, phase); err != nil {
			return err
		}
	}
	return nil
}

func networkFaults(e *scenario.Env, l *lab.Lab) []Fault {
	first, second, worker := l.Machines[0], l.Machines[1], l.Machines[3]
	dropped := func(name string, d lab.Drop, rule, object, saw string) Fault {
		return Fault{
			name: name, rule: rule, object: object, saw: saw,
			inject: func(ctx context.Context) error { return l.Network.Drop(ctx, d) },
			repair: func(ctx context.Context) error { return l.Network.Carry(ctx, d) },
		}
	}
	return []Fault{
		dropped("the tunnel between two hosts loses all packets", lab.Drop{Proto: "udp", Port: 8472, From: second.Addr(), To: worker.Addr()}, "data-plane", "pod on node4", "from node2"),
		dropped("the tunnel between two hosts loses large packets", lab.Drop{Proto: "udp", Port: 8472, From: second.Addr(), To: worker.Addr(), Larger: 1200}, "data-plane", "pod on node4, 64 KiB", "from node2"),
		{
			name: "a reload of firewalld flushed the rules of hostPort", rule: "data-plane", object: "hostPort 10479 of node4", saw: "refused from node4",
			inject: func(ctx context.Context) error { return e.Script(ctx, worker, "iptables -t nat -F CNI-HOSTPORT-DNAT") },
			repair: newHostPorts(e, first),
		},
		On(e, worker, "a node is cut off", cutOff, "nft delete table inet cut", "nodes-ready", "Node node4", "not reporting").slowly(2 * time.Minute),
		On(e, worker, "the tunnel has another MTU", "ip link set flannel.1 mtu 1300", "ip link set flannel.1 mtu 1450", "pod-network-mtu", "Node node4, link flannel.1", "1300 bytes"),
		On(e, first, "an IP pool uses IP-in-IP", calicoPool+scenario.Kubectl+"apply -f /run/pool.yaml", scenario.Kubectl+"delete ippools.crd.projectcalico.org tunnelled; "+scenario.Kubectl+"delete crd ippools.crd.projectcalico.org",
			"no-ipip", "IPPool tunnelled", "ipipMode: Always").slowly(3 * time.Minute),
		On(e, first, "CoreDNS is scaled to zero", scenario.Kubectl+"-n kube-system scale deployment coredns --replicas=0", scenario.Kubectl+"-n kube-system scale deployment coredns --replicas=2",
			"dns", "Service kube-system/kube-dns", "no ready pod"),
	}
}

// cutOff drops all packets that a host sends to others, including the load balancer.
const cutOff = "nft add table inet cut && nft 'add chain inet cut out { type filter hook output priority -300; policy drop; }' && nft add rule inet cut out oifname lo accept"

// calicoPool writes a minimal CustomResourceDefinition of Calico's IP pools, and a pool with
// IP-in-IP.
const calicoPool = `cat >/run/pools.yaml <<'YAML'
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ippools.crd.projectcalico.org}
spec:
  group: crd.projectcalico.org
  scope: Cluster
  names: {kind: IPPool, plural: ippools, singular: ippool, listKind: IPPoolList}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
YAML
cat >/run/pool.yaml <<'YAML'
apiVersion: crd.projectcalico.org/v1
kind: IPPool
metadata: {name: tunnelled}
spec: {cidr: 10.99.0.0/16, ipipMode: Always}
YAML
` + scenario.Kubectl + "apply -f /run/pools.yaml && " + scenario.Kubectl + "wait --for=condition=Established crd/ippools.crd.projectcalico.org --timeout=60s && "

// clusterFaults returns the faults in objects of the cluster.
func clusterFaults(e *scenario.Env, l *lab.Lab) []Fault {
	first, worker := l.Machines[0], l.Machines[3]
	applied := func(name, yaml, remove, rule, object, saw string) Fault {
		return On(e, first, name, "cat >/run/fault.yaml <<'YAML'\n"+yaml+"\nYAML\n"+scenario.Kubectl+"apply -f /run/fault.yaml", scenario.Kubectl+"delete --wait=false "+remove, rule, object, saw)
	}
	return []Fault{
		On(e, first, "a node is cordoned", scenario.Kubectl+"cordon node4", scenario.Kubectl+"uncordon node4", "nodes-schedulable", "Node node4", "cordoned"),
		applied("a webhook that points nowhere", `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: nowhere}, webhooks: [{name: a.nowhere.example, admissionReviewVersions: [v1], sideEffects: None, failurePolicy: Ignore, clientConfig: {service: {namespace: default, name: missing}}, rules: [{apiGroups: [nowhere.example], apiVersions: [v1], operations: [CREATE], resources: [things]}]}]}`,
			"validatingwebhookconfiguration nowhere", "webhooks", "nowhere", "Service default/missing does not exist"),
		applied("a binding that approves any node", `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: any-node}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "system:certificates.k8s.io:certificatesigningrequests:nodeclient"}, subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: "system:bootstrappers"}]}`,
			"clusterrolebinding any-node", "join-tokens", "any-node", "a certificate for any node is approved"),
		applied("an APIService without a server", `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.nowhere.example}, spec: {group: nowhere.example, version: v1, groupPriorityMinimum: 100, versionPriority: 100, insecureSkipTLSVerify: true, service: {namespace: default, name: missing}}}`,
			"apiservice v1.nowhere.example", "api-services", "v1.nowhere.example", "not available"),
		applied("a pod that crashes repeatedly", `{apiVersion: v1, kind: Pod, metadata: {name: crashing}, spec: {containers: [{name: main, image: docker.io/library/hello:1.0, command: [/nothing]}]}}`,
			"pod crashing", "pods", "Pod default/crashing", "container main"),
		applied("a Deployment that fits no node", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: waiting}, spec: {selector: {matchLabels: {app: waiting}}, template: {metadata: {labels: {app: waiting}}, spec: {nodeSelector: {no: such}, containers: [{name: main, image: "docker.io/library/hello:1.0"}]}}}}`,
			"deployment waiting", "pods", "Pod default/waiting", "not scheduled: Unschedulable"),
		On(e, first, "a system workload gets an image that does not exist", scenario.Kubectl+"-n kube-system set image daemonset/kube-proxy kube-proxy=registry.example/missing/image:1",
			scenario.Kubectl+"-n kube-system rollout undo daemonset/kube-proxy", "system-workloads", "DaemonSet kube-system/kube-proxy", "pods updated"),
		{
			name: "an image is missing in every registry", rule: "images", object: "/team/hello@sha256:", saw: "it is not in the registry; it runs in default/own", within: 3 * time.Minute,
			inject: func(ctx context.Context) error {
				return withoutRegistries(ctx, e, l.Machines[:3], "mv /var/lib/airgap/pushed /var/lib/airgap/pushed.away")
			},
			repair: func(ctx context.Context) error {
				return withoutRegistries(ctx, e, l.Machines[:3], "rm -rf /var/lib/airgap/pushed; mv /var/lib/airgap/pushed.away /var/lib/airgap/pushed")
			},
		},
		{ // not a lost pin: containerd restores it automatically
			name: "an image that a node must keep is deleted", rule: "pinned-images", object: "Node node4", saw: "pause:", within: 3 * time.Minute,
			inject: func(ctx context.Context) error {
				return e.Script(ctx, worker, "ctr='/opt/airgap/bin/ctr -n k8s.io'; $ctr image rm $($ctr image ls -q | grep /pause)")
			},
			repair: func(ctx context.Context) error { // a new pod needs the image
				return e.Script(ctx, first, scenario.Kubectl+"-n kube-system delete pod -l k8s-app=kube-proxy --field-selector spec.nodeName=node4")
			},
		},
	}
}
