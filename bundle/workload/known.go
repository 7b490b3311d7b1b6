package workload

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"airgap.dev/airgap/internal/reference"
)

// custom is a kind of custom resource with its image fields. Pod templates are
// found in any object and need no entry. A path has field names, and [] for every
// item of a list.
type custom struct {
	group, kind string
	whole       []string // fields with a complete reference
	parts       []string // mappings with repository, image and version
}

// customs returns the known kinds, from the API references of the projects:
// prometheus-operator.dev/docs/api-reference, argo-workflows.readthedocs.io
// (fields), tekton.dev/docs/pipelines, kubevirt.io/api-reference,
// cloudnative-pg.io (API reference), rook.io (CephCluster CRD),
// elastic.co/guide (ECK API reference), rabbitmq.com/kubernetes/operator,
// opentelemetry.io/docs/platforms/kubernetes/operator, and the CRD of the
// gpu-operator for ClusterPolicy.
func customs() []custom {
	monitoring, workflows, vms := "monitoring.coreos.com", "argoproj.io", "kubevirt.io"
	pod := []string{"spec.image", "spec.thanos.image"}
	templates := func(at string) []string {
		return []string{at + ".templates[].container.image", at + ".templates[].script.image", at + ".templates[].sidecars[].image"}
	}
	steps := func(at string) []string {
		return []string{at + "steps[].image", at + "sidecars[].image", at + "stepTemplate.image"}
	}
	return []custom{
		{group: monitoring, kind: "Prometheus", whole: pod},
		{group: monitoring, kind: "PrometheusAgent", whole: pod},
		{group: monitoring, kind: "Alertmanager", whole: pod},
		{group: monitoring, kind: "ThanosRuler", whole: pod},
		{group: workflows, kind: "Workflow", whole: templates("spec")},
		{group: workflows, kind: "WorkflowTemplate", whole: templates("spec")},
		{group: workflows, kind: "ClusterWorkflowTemplate", whole: templates("spec")},
		{group: workflows, kind: "CronWorkflow", whole: templates("spec.workflowSpec")},
		{group: "tekton.dev", kind: "Task", whole: steps("spec.")},
		{group: "tekton.dev", kind: "ClusterTask", whole: steps("spec.")},
		{group: "tekton.dev", kind: "TaskRun", whole: steps("spec.taskSpec.")},
		{group: "tekton.dev", kind: "Pipeline", whole: steps("spec.tasks[].taskSpec.")},
		{group: vms, kind: "VirtualMachine", whole: []string{"spec.template.spec.volumes[].containerDisk.image", "spec.template.spec.domain.firmware.kernelBoot.container.image"}},
		{group: vms, kind: "VirtualMachineInstance", whole: []string{"spec.volumes[].containerDisk.image", "spec.domain.firmware.kernelBoot.container.image"}},
		{group: "postgresql.cnpg.io", kind: "Cluster", whole: []string{"spec.imageName"}},
		{group: "ceph.rook.io", kind: "CephCluster", whole: []string{"spec.cephVersion.image"}},
		{group: "elasticsearch.k8s.elastic.co", kind: "Elasticsearch", whole: []string{"spec.image"}},
		{group: "kibana.k8s.elastic.co", kind: "Kibana", whole: []string{"spec.image"}},
		{group: "rabbitmq.com", kind: "RabbitmqCluster", whole: []string{"spec.image"}},
		{group: "opentelemetry.io", kind: "OpenTelemetryCollector", whole: []string{"spec.image", "spec.targetAllocator.image"}},
		{group: "nvidia.com", kind: "ClusterPolicy", parts: operands()},
	}
}

// operands returns the parts of NVIDIA's ClusterPolicy that become pods. Drivers
// are not among them: the operator adds the servers' OS to their tags, and airgap
// installs drivers as packages.
func operands() []string {
	var all []string
	for name := range strings.FieldsSeq("toolkit devicePlugin dcgm dcgmExporter gfd migManager nodeStatusExporter validator sandboxDevicePlugin vfioManager vgpuDeviceManager kataManager ccManager") {
		all = append(all, "spec."+name)
	}
	return append(all, "spec.operator.initContainer")
}

// imageArguments returns arguments of operators that name the images of their pods.
func imageArguments() []string {
	return []string{
		"--prometheus-config-reloader", "--prometheus-default-base-image", "--alertmanager-default-base-image", "--thanos-default-base-image", // prometheus-operator
		"--acme-http01-solver-image", // cert-manager
	}
}

// relatedImage is the prefix of the variables with which the Operator Lifecycle
// Manager passes images to operators.
const relatedImage = "RELATED_IMAGE_"

// arguments finds images that a container passes to the pods that it creates.
func (f *finder) arguments(c map[string]any, where string) {
	for _, key := range []string{"command", "args"} {
		words, _ := c[key].([]any)
		for i, word := range words {
			text, _ := word.(string)
			flag, value, joined := strings.Cut(text, "=")
			if !slices.Contains(imageArguments(), flag) {
				continue
			}
			if !joined && i+1 < len(words) {
				value, _ = words[i+1].(string)
			}
			if reference.HasEnd(value) && !isOpen(value) {
				f.add(value, where+", "+flag)
			}
		}
	}
	variables, _ := c["env"].([]any)
	for _, one := range variables {
		variable, _ := one.(map[string]any)
		name, _ := variable["name"].(string)
		value, _ := variable["value"].(string)
		if strings.HasPrefix(name, relatedImage) && !isOpen(value) {
			f.add(value, where+", variable "+name)
		}
	}
}

// known finds the image fields of known kinds.
func (f *finder) known(o Object) {
	gvk := o.GroupVersionKind()
	for _, c := range customs() {
		if c.group != gvk.Group || c.kind != gvk.Kind {
			continue
		}
		for _, path := range c.whole {
			reach(o.Object, strings.Split(path, "."), "", func(at string, value any) {
				if text, is := value.(string); is {
					f.add(text, at)
				}
			})
		}
		for _, path := range c.parts {
			reach(o.Object, strings.Split(path, "."), "", func(at string, value any) {
				if part, is := value.(map[string]any); is {
					f.add(joinParts(part), at)
				}
			})
		}
	}
	if gvk.Group == "monitoring.coreos.com" {
		f.monitored(o)
	}
	if gvk.Group == "" && gvk.Kind == "ConfigMap" {
		f.proxyOf(o)
	}
}

// monitored finds the image of prometheus-operator for an object without spec.image:
// a base image with a version. Otherwise only the operator knows the image.
func (f *finder) monitored(o Object) {
	kinds := []string{"Prometheus", "PrometheusAgent", "Alertmanager", "ThanosRuler"}
	spec, _ := o.Object["spec"].(map[string]any)
	text := func(key string) string { s, _ := spec[key].(string); return s }
	if !slices.Contains(kinds, o.GetKind()) || text("image") != "" {
		return
	}
	switch base := text("baseImage"); {
	case base == "":
		f.complain("spec.image", "is not set, so the operator chooses an image that airgap does not know: set spec.image")
	case text("sha") != "":
		f.add(base+"@sha256:"+text("sha"), "spec.baseImage")
	default:
		f.add(base+":"+cmp.Or(text("tag"), text("version")), "spec.baseImage")
	}
}

// reach calls use for every value at a path.
func reach(value any, path []string, at string, use func(at string, value any)) {
	if len(path) == 0 {
		use(at, value)
		return
	}
	key, each := strings.CutSuffix(path[0], "[]")
	m, _ := value.(map[string]any)
	below, exists := m[key]
	if !exists {
		return
	}
	if at != "" {
		at += "."
	}
	if !each {
		reach(below, path[1:], at+key, use)
		return
	}
	list, _ := below.([]any)
	for i, item := range list {
		reach(item, path[1:], fmt.Sprintf("%s%s[%d]", at, key, i), use)
	}
}

// joinParts joins the parts as the gpu-operator does: an image without other parts
// is a complete reference, and a version may be a digest. A disabled part needs no
// image.
func joinParts(part map[string]any) string {
	if enabled, is := part["enabled"].(bool); is && !enabled {
		return ""
	}
	repository, _ := part["repository"].(string)
	image, _ := part["image"].(string)
	version, _ := part["version"].(string)
	switch {
	case image == "" || repository == "" && version == "":
		return image
	case strings.HasPrefix(version, "sha256:"):
		return repository + "/" + image + "@" + version
	default:
		return repository + "/" + image + ":" + version
	}
}

// Istio writes image: auto for the proxy, which its webhook replaces with the image
// in the webhook's values.
const (
	injected     = "auto"
	injectedName = "istio-proxy"
)

func (f *finder) proxyOf(o Object) {
	if !strings.HasPrefix(o.GetName(), "istio-sidecar-injector") {
		return
	}
	text, _, _ := unstructured.NestedString(o.Object, "data", "values")
	values, err := mapping([]byte(text))
	if err != nil {
		f.complain("data.values", "%v", err)
		return
	}
	global, _ := values["global"].(map[string]any)
	for _, part := range []string{"proxy", "proxy_init"} {
		settings, _ := global[part].(map[string]any)
		image, _ := settings["image"].(string)
		if image != "" && !strings.Contains(image, "/") {
			image = fmt.Sprintf("%v/%s:%v", global["hub"], image, global["tag"])
			if variant, _ := global["variant"].(string); variant != "" {
				image += "-" + variant
			}
		}
		f.add(image, "global."+part+".image")
	}
}
