package support

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"airgap.dev/airgap/internal/output"
	"airgap.dev/airgap/kubeadm/kube"
)

// asTable requests the columns of kubectl get -o wide from the API server. The archive therefore has no other
// fields of the objects.
const asTable = "application/json;as=Table;g=meta.k8s.io;v=v1"

// tables returns the kinds of objects in the archive, with the API path of each list. It must never include Secrets
// and ConfigMaps.
func tables() []struct{ name, title, path string } {
	return []struct{ name, title, path string }{
		{"nodes", "Nodes", "/api/v1/nodes"},
		{"pods", "Pods", "/api/v1/pods"},
		{"events", "Events", "/api/v1/events"},
		{"nodereports", "NodeReports of airgap", "/apis/airgap.dev/v1alpha1/nodereports"},
		{"daemonsets", "DaemonSets", "/apis/apps/v1/daemonsets"},
		{"deployments", "Deployments", "/apis/apps/v1/deployments"},
		{"statefulsets", "StatefulSets", "/apis/apps/v1/statefulsets"},
		{"jobs", "Jobs", "/apis/batch/v1/jobs"},
		{"services", "Services", "/api/v1/services"},
		{"endpointslices", "EndpointSlices", "/apis/discovery.k8s.io/v1/endpointslices"},
		{"persistentvolumes", "PersistentVolumes", "/api/v1/persistentvolumes"},
		{"persistentvolumeclaims", "PersistentVolumeClaims", "/api/v1/persistentvolumeclaims"},
		{"poddisruptionbudgets", "PodDisruptionBudgets", "/apis/policy/v1/poddisruptionbudgets"},
		{"certificatesigningrequests", "CertificateSigningRequests", "/apis/certificates.k8s.io/v1/certificatesigningrequests"},
		{"validatingwebhooks", "Validating webhooks", "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"},
		{"mutatingwebhooks", "Mutating webhooks", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"},
		{"apiservices", "APIServices", "/apis/apiregistration.k8s.io/v1/apiservices"},
	}
}

// ofCluster returns the parts with an overview of the cluster, read with this host's kubeconfig.
func (e *Evidence) ofCluster() []Part {
	client := ask(e.client)
	part := func(name, title string, write func(context.Context, rest.Interface, io.Writer) error) Part {
		return Part{Name: name, Title: title, Limit: quick, Room: some, Write: func(ctx context.Context, w io.Writer) error {
			var c rest.Interface
			if err := client.show(ctx, func(found rest.Interface) error { c = found; return nil }); err != nil {
				return err
			}
			return write(ctx, c, w)
		}}
	}
	all := []Part{
		part("cluster/readyz.txt", "Health checks of the API server", func(ctx context.Context, c rest.Interface, w io.Writer) error {
			text, err := c.Get().AbsPath("/readyz").Param("verbose", "").Do(ctx).Raw()
			_, writeErr := w.Write(text)
			return cmp.Or(err, writeErr)
		}),
	}
	if !e.has(kube.AdminConf) {
		return all // readyz.txt reports that there is no kubeconfig
	}
	for _, t := range tables() {
		all = append(all, part("cluster/"+t.name+".txt", t.title, func(ctx context.Context, c rest.Interface, w io.Writer) error {
			return writeTable(ctx, c, t.path, w)
		}))
	}
	return append(all, part("cluster/nodes.json", "Nodes with their conditions", writeNodes))
}

// client returns a client of the API server, after a request for its version. The parts share one call.
func (e *Evidence) client(ctx context.Context) (rest.Interface, error) {
	if !e.has(kube.AdminConf) {
		return nil, NotPresent("this host has no %s: a control-plane host's bundle has it", kube.AdminConf)
	}
	config, err := kube.RESTConfig(e.Machine.Machine, kube.AdminConf)
	if err != nil {
		return nil, err
	}
	config.Timeout, config.QPS = 10*time.Second, -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	c := client.Discovery().RESTClient()
	if _, err := c.Get().AbsPath("/version").Do(ctx).Raw(); err != nil {
		return nil, fmt.Errorf("ask the API server: %w", err)
	}
	return c, nil
}

// atATime limits the objects of one request, and therefore the memory on both sides.
const atATime = "500"

func writeTable(ctx context.Context, c rest.Interface, path string, w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	next, begun := "", false
	for {
		ask := c.Get().AbsPath(path).SetHeader("Accept", asTable).Param("includeObject", "Metadata").Param("limit", atATime)
		if next != "" {
			ask = ask.Param("continue", next)
		}
		text, err := ask.Do(ctx).Raw()
		if err != nil {
			return err
		}
		var table metav1.Table
		if err := json.Unmarshal(text, &table); err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		if !begun {
			writeHeadings(t, table)
			begun = true
		}
		if err := writeRows(t, table); err != nil {
			return err
		}
		if err := t.Flush(); err != nil {
			return err
		}
		if next = table.Continue; next == "" {
			return nil
		}
	}
}

func writeHeadings(w io.Writer, table metav1.Table) {
	names := []string{"NAMESPACE"}
	for _, c := range table.ColumnDefinitions {
		names = append(names, strings.ToUpper(c.Name))
	}
	fmt.Fprintln(w, strings.Join(names, "\t"))
}

func writeRows(w io.Writer, table metav1.Table) error {
	for _, row := range table.Rows {
		var object metav1.PartialObjectMetadata
		if err := json.Unmarshal(row.Object.Raw, &object); err != nil {
			return fmt.Errorf("read a row: %w", err)
		}
		cells := []string{object.Namespace}
		if object.Namespace == "" {
			cells[0] = "-"
		}
		for _, cell := range row.Cells {
			cells = append(cells, strings.Join(strings.Fields(fmt.Sprint(cell)), " "))
		}
		if _, err := fmt.Fprintln(w, strings.Join(cells, "\t")); err != nil {
			return err
		}
	}
	return nil
}

func writeNodes(ctx context.Context, c rest.Interface, w io.Writer) error {
	text, err := c.Get().AbsPath("/api/v1/nodes").Param("limit", atATime).Do(ctx).Raw()
	if err != nil {
		return err
	}
	return output.JSON(w, json.RawMessage(text))
}
