package certs

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
)

const (
	rotateCluster = "airgap certs rotate-ca --only cluster"
	ClusterCA     = "/etc/kubernetes/pki/ca.crt"
	managerYAML   = "/etc/kubernetes/manifests/kube-controller-manager.yaml"
	// followRotation starts the rotation on the worker, and saves the process ID.
	followRotation = rotateCluster + " --follow >>/root/followed 2>&1 & echo $! >/root/follows"
)

// clusterCARotated rotates the cluster's CA on a control-plane host and a worker, and kills
// the command in each phase. The rotation must wait for pods that use the old CA. Afterwards
// certificates of the old CA must be refused, and the cluster must work.
func clusterCARotated(ctx context.Context, e *scenario.Env, first, worker lab.Machine) error {
	if err := e.Script(ctx, first, "umask 077; mkdir /root/old && cp "+ClusterCA+" /etc/kubernetes/admin.conf /root/old && cp "+managerYAML+" /root/old/manager.yaml"); err != nil {
		return err
	}
	began := time.Now()
	reached := func(phase string) string {
		return `grep -q '"reached": *"` + phase + `"' /var/lib/airgap/authority.json`
	}
	if err := killedAt(ctx, e, first, "test -s /etc/kubernetes/pki/next/cluster.crt", "test $(grep -c BEGIN "+ClusterCA+") = 2", reached("both")); err != nil {
		return err
	}
	r, err := e.On(ctx, first, "", "airgap", "join", "--new-token")
	if err != nil {
		return err
	}
	if err := r.Want("a join token during the rotation", 1, "a rotation of the CA of cluster is in progress", "rotate-ca --only cluster"); err != nil {
		return err
	}
	if err := e.Script(ctx, worker, followRotation); err != nil {
		return err
	}
	if err := waitsForPods(ctx, e, first); err != nil {
		return err
	}
	if err := killedAt(ctx, e, first, "cmp -s /etc/kubernetes/pki/next/cluster.key /etc/kubernetes/pki/ca.key", "test -s /var/lib/airgap/renewal.json", reached("signing")); err != nil {
		return err
	}
	if err := e.Script(ctx, worker, "kill -9 $(cat /root/follows)", followRotation); err != nil {
		return err
	}
	if err := killedAt(ctx, e, first, reached("issued"), "cmp -s /etc/kubernetes/pki/next/cluster.crt "+ClusterCA); err != nil {
		return err
	}
	if r, err = e.Must(ctx, first, []string{"continue the interrupted rotation", "this host does not trust the old one", "this workload also trusts the old one until its pods restart: pod/tools -n default"}, "sh", "-c", rotateCluster+" 2>&1"); err != nil {
		return err
	}
	fmt.Fprintf(e.Log, "%srotated in %.1f s\n", r.Stdout, time.Since(began).Seconds())
	return oldCAGone(ctx, e, first, worker)
}

func killedAt(ctx context.Context, e *scenario.Env, m lab.Machine, moments ...string) error {
	for _, soFar := range moments {
		if err := e.Killed(ctx, m, rotateCluster, soFar); err != nil {
			return fmt.Errorf("killed when %s: %w", soFar, err)
		}
	}
	return nil
}

// waitsForPods checks that the rotation waits for the workload, and then restarts the workload.
func waitsForPods(ctx context.Context, e *scenario.Env, first lab.Machine) error {
	const waits = rotateCluster + ` >/root/waits 2>&1 &
		until grep -q 'daemonset/hello -n default, pod/tools -n default' /root/waits; do kill -0 $! || { cat /root/waits; exit 1; }; sleep 0.2; done
		kill $!; wait $!; test $? != 0 && grep -q 'kubectl rollout restart' /root/waits`
	if err := e.Script(ctx, first, waits, scenario.Kubectl+"rollout restart ds/hello", scenario.Kubectl+"delete pod tools --now"); err != nil {
		return err
	}
	r, err := e.On(ctx, first, scenario.WorkloadYAML, "sh", "-c", scenario.Kubectl+"apply -f -")
	if err != nil {
		return err
	}
	return errors.Join(r.Want("create the pod again", 0), e.Script(ctx, first, scenario.Kubectl+"wait --for=condition=Ready pod/tools --timeout=120s"))
}

// oldCAGone checks that each file and object has only the new CA, and that the cluster works.
func oldCAGone(ctx context.Context, e *scenario.Env, first, worker lab.Machine) error {
	const (
		field = "sed -n 's/.*%s: //p' /root/old/admin.conf | base64 -d >/root/old/%s"
		asOld = "test $(curl -s -o /dev/null -w '%%{http_code}' --cacert %s --cert /root/old/client.crt --key /root/old/client.key https://10.88.0.11:6443/api) = %s"
	)
	if err := e.Script(ctx, first,
		"! cmp -s /root/old/ca.crt "+ClusterCA+" && test $(grep -c BEGIN "+ClusterCA+") = 1",
		"cmp /root/old/manager.yaml "+managerYAML,
		"umask 077; "+fmt.Sprintf(field, "client-certificate-data", "client.crt")+" && "+fmt.Sprintf(field, "client-key-data", "client.key"),
		fmt.Sprintf(asOld, ClusterCA, "401"),
		"! curl -s --cacert /root/old/ca.crt https://10.88.0.11:6443/readyz",
		scenario.Kubectl+"get cm kube-root-ca.crt -o jsonpath='{.data.ca\\.crt}' | diff - "+ClusterCA,
		scenario.Kubectl+"-n kube-public get cm cluster-info -o jsonpath={.data.kubeconfig} | sed -n 's/.*certificate-authority-data: //p' | base64 -d | diff - "+ClusterCA,
		scenario.Kubectl+"-n kube-system get cm extension-apiserver-authentication -o jsonpath={.data.client-ca-file} | diff - "+ClusterCA,
		scenario.Kubectl+"get nodes -o yaml | grep -q airgap.dev/authority && exit 1; true",
		scenario.IsGone("-n kube-system secret airgap-authority"),
		"rm -r /root/old /root/waits",
	); err != nil {
		return err
	}
	// The worker's command polls: it ends some time after the rotation.
	if err := e.Script(ctx, worker, "timeout 60 tail --pid=$(cat /root/follows) -f /dev/null || { cat /root/followed; exit 1; }"); err != nil {
		return err
	}
	for _, m := range []lab.Machine{first, worker} {
		if err := e.Script(ctx, m,
			"! test -e /etc/kubernetes/pki/next && ! test -e /var/lib/airgap/authority.json",
			"openssl verify -CAfile "+ClusterCA+" /var/lib/kubelet/pki/kubelet-client-current.pem",
			"for f in /etc/kubernetes/*.conf; do sed -n 's/.*certificate-authority-data: //p' $f | base64 -d | diff - "+ClusterCA+" || exit 1; done",
		); err != nil {
			return fmt.Errorf("%s: %w", m.Name(), err)
		}
	}
	if err := e.Script(ctx, worker, "grep -q 'node1 led the rotation and finished it' /root/followed", "rm /root/followed /root/follows"); err != nil {
		return err
	}
	return laterService(ctx, e, first)
}

// laterService creates a Service after the rotation and connects to it by name. This works only
// if the programs that write its endpoints, its address and its rules get it from the API server.
func laterService(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	const service = `{apiVersion: v1, kind: Service, metadata: {name: later}, spec: {selector: {app: hello}, ports: [{port: 80, targetPort: 8080}]}}`
	r, err := e.On(ctx, m, service, "sh", "-c", scenario.Kubectl+"apply -f -")
	if err != nil {
		return err
	}
	if err := r.Want("create a Service", 0); err != nil {
		return err
	}
	return e.Script(ctx, m, scenario.Retry(scenario.Kubectl+"exec tools -- tools get http://later.default.svc.cluster.local:80/"), scenario.Kubectl+"delete service later")
}

// rotateCAsOfThree rotates each CA on three control-plane hosts through SSH. Each command is
// killed once, while a client sends requests to the load balancer.
func rotateCAsOfThree(ctx context.Context, e *scenario.Env, machines []lab.Machine) error {
	first := machines[0]
	for only, file := range map[string]string{
		"etcd": "/etc/kubernetes/pki/etcd/ca.crt", "front-proxy": "/etc/kubernetes/pki/front-proxy-ca.crt",
		"cluster": ClusterCA, "registry": "/etc/airgap/pki/ca.crt",
	} {
		if err := rotateCAOfThree(ctx, e, machines, only, file); err != nil {
			return fmt.Errorf("the CA %s: %w", only, err)
		}
	}
	for _, m := range machines {
		if err := e.Script(ctx, m,
			"openssl s_client -connect "+m.Addr().String()+":5000 -CAfile /etc/airgap/pki/ca.crt -verify_return_error </dev/null",
			"/opt/airgap/bin/ctr -n k8s.io images pull --hosts-dir /etc/containerd/certs.d docker.io/library/hello:1.0",
		); err != nil {
			return fmt.Errorf("the registries' new CA on %s: %w", m.Name(), err)
		}
	}
	return e.Script(ctx, first, "airgap backup")
}

func rotateCAOfThree(ctx context.Context, e *scenario.Env, machines []lab.Machine, only, file string) error {
	first := machines[0]
	sums := func() (all []string, err error) {
		for _, m := range machines {
			sum, err := lab.Output(ctx, m, "sh", "-c", "test $(grep -c BEGIN "+file+") = 1 && sha256sum "+file)
			if err != nil {
				return nil, err
			}
			all = append(all, sum)
		}
		return all, nil
	}
	before, err := sums()
	if err != nil {
		return err
	}
	if err := startClients(ctx, e, first, netip.AddrPortFrom(scenario.Vip, 6443).String()); err != nil {
		return err
	}
	rotate := "airgap certs rotate-ca --pods restart --only " + only
	if err := e.Killed(ctx, first, rotate, `grep -q '"reached": *"signing"' /var/lib/airgap/authority.json`); err != nil {
		return err
	}
	began := time.Now()
	r, err := e.Must(ctx, first, []string{"continue the interrupted rotation", "node2", "node3", "this host does not trust the old one"}, "sh", "-c", rotate+" 2>&1")
	if err != nil {
		return err
	}
	outages, err := stopClients(ctx, e, first)
	if err != nil {
		return err
	}
	fmt.Fprintf(e.Log, "%s%s: the run after the kill took %.1f s; no API server answered at the balancer for %v\n", r.Stdout, only, time.Since(began).Seconds(), outages)
	if most := 3 * len(machines); len(outages) > most || slices.ContainsFunc(outages, func(d time.Duration) bool { return d > balancerLimit }) {
		return fmt.Errorf("no API server answered at the balancer for %v, want at most %v for each of %d restarts", outages, balancerLimit, most)
	}
	after, err := sums()
	if err != nil {
		return err
	}
	if after[0] == before[0] || len(slices.Compact(slices.Clone(after))) != 1 {
		return fmt.Errorf("got the SHA-256 sums %s before the rotation and %s after it, want other sums that are the same on all hosts", strings.Join(before, " "), strings.Join(after, " "))
	}
	return nil
}
