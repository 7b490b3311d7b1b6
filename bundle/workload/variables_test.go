package workload_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle/workload"
)

// pod returns a Deployment with these fields in its container, and a ConfigMap.
func pod(fields string) string {
	return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {template: {spec: {containers: [{name: c, image: quay.io/shop/operator:1, " + fields + "}]}}}\n---\n" +
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: where, namespace: shop}\ndata: {hub: quay.io/shop, TAG: '2.0'}\n"
}

// likely returns the candidates of objects. Open ones end with a question mark.
func likely(t *testing.T, text string) []string {
	t.Helper()
	objects, err := workload.Parse("f.yaml", []byte(text))
	must(t, err)
	found, unread := workload.Likely(objects, "shop")
	if len(unread) > 0 {
		t.Errorf("unread: %q", unread)
	}
	var got []string
	for _, c := range found {
		if c.Open {
			c.Image += "?"
		}
		if !slices.Contains(got, c.Image) {
			got = append(got, c.Image)
		}
	}
	return got
}

// TestVariables: the kubelet replaces $(NAME) with values, so the variables of a container
// may contain the parts of an image.
func TestVariables(t *testing.T) {
	const hub, tag = `{name: REGISTRY, value: quay.io/shop}`, `{name: TAG, value: "1.0"}`
	for name, tc := range map[string]struct {
		fields string
		want   []string
	}{
		"in an argument":             {`args: ["--helper-image=$(REGISTRY)/x:$(TAG)"], env: [` + hub + `, ` + tag + `]`, []string{"quay.io/shop/x:1.0"}},
		"in a command":               {`command: [run, "$(REGISTRY)/x:$(TAG)"], env: [` + hub + `, ` + tag + `]`, []string{"quay.io/shop/x:1.0"}},
		"in another variable":        {`env: [` + hub + `, ` + tag + `, {name: A, value: "$(REGISTRY)/x:$(TAG)"}]`, []string{"quay.io/shop/x:1.0"}},
		"of a later variable":        {`env: [{name: A, value: "$(REGISTRY)/x:$(TAG)"}, ` + hub + `, ` + tag + `]`, []string{"$(REGISTRY)/x:$(TAG)?"}},
		"with the last value":        {`args: ["$(REGISTRY)/x:1.0"], env: [{name: REGISTRY, value: a.io}, ` + hub + `]`, []string{"quay.io/shop/x:1.0"}},
		"of a ConfigMap's key":       {`args: ["$(A)/x:1.0"], env: [{name: A, valueFrom: {configMapKeyRef: {name: where, key: hub}}}]`, []string{"quay.io/shop/x:1.0"}},
		"of a whole ConfigMap":       {`args: ["$(P_hub)/x:$(P_TAG)"], envFrom: [{prefix: P_, configMapRef: {name: where}}]`, []string{"quay.io/shop/x:2.0"}},
		"in a script":                {`args: ["run --x\nset --helper-image $(REGISTRY)/x:$(TAG)\n"], env: [` + hub + `, ` + tag + `]`, []string{"quay.io/shop/x:1.0"}},
		"in parts":                   {`args: ["--helper-image-repository=$(REGISTRY)/x", "--helper-image-tag=$(TAG)"], env: [` + hub + `, ` + tag + `]`, []string{"quay.io/shop/x:1.0"}},
		"escaped":                    {`args: ["$$(REGISTRY)/x:$$(TAG)"], env: [` + hub + `, ` + tag + `]`, []string{"$(REGISTRY)/x:$(TAG)?"}},
		"of a Secret":                {`args: ["$(REGISTRY)/x:1.0"], env: [{name: REGISTRY, valueFrom: {secretKeyRef: {name: s, key: k}}}]`, []string{"$(REGISTRY)/x:1.0?"}},
		"of an unknown ConfigMap":    {`args: ["--helper-image=$(A)/x:$(B)"], env: [{name: A, valueFrom: {configMapKeyRef: {name: absent, key: hub}}}]`, []string{"$(A)/x:$(B)?"}},
		"without a value":            {`args: ["$(HELPER_IMAGE)", "--x=$(HUB)/x:$(X_TAG)"]`, []string{"$(HELPER_IMAGE)?", "$(HUB)/x:$(X_TAG)?"}},
		"a tag without a value":      {`args: ["--helper-image-repository=quay.io/shop/x", "--helper-image-tag=$(TAG)"]`, []string{"quay.io/shop/x:$(TAG)?"}},
		"a repository without value": {`args: ["--helper-image=$(HUB)/x"]`, []string{"$(HUB)/x?"}},
		"related":                    {`env: [` + hub + `, {name: RELATED_IMAGE_X, value: "$(REGISTRY)/x:1"}]`, []string{"quay.io/shop/x:1"}},
		"related, without a value":   {`env: [{name: RELATED_IMAGE_X, value: "$(REGISTRY)/x:1"}]`, []string{"$(REGISTRY)/x:1?"}},
		"no images: hosts, Services": {`args: ["$(HOST):$(PORT)", "--publish=$(POD_NAMESPACE)/ingress", "--peer=$(POD_NAME).x:80", "http://$(HOST)/x:1", "$(hostname)/x:9090"]`, nil},
		"no images: a shell":         {`args: ["sh", "-c", "a=$(cat /etc/x) && echo $(date +%s):$(hostname)"]`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := slices.DeleteFunc(likely(t, pod(tc.fields)), func(image string) bool { return strings.HasSuffix(image, "operator:1") })
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestVariablesOfPods: values are also set in known image arguments. Without the values the
// text is not an image.
func TestVariablesOfPods(t *testing.T) {
	for fields, want := range map[string]string{
		`env: [{name: A, value: quay.io/shop}, {name: RELATED_IMAGE_X, value: "$(A)/x:1"}]`:                "quay.io/shop/x:1",
		`args: ["--acme-http01-solver-image=$(A)/x:1"], env: [{name: A, value: quay.io/shop}]`:             "quay.io/shop/x:1",
		`env: [{name: RELATED_IMAGE_X, value: "$(A)/x:1"}], args: ["--acme-http01-solver-image=$(A)/x:1"]`: "",
	} {
		objects, err := workload.Parse("f.yaml", []byte(pod(fields)))
		must(t, err)
		refs, err := workload.Images(objects, "shop")
		must(t, err)
		got := ""
		for _, ref := range refs[1:] {
			got += ref.Image
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", fields, got, want)
		}
	}
}

// TestVariablesAreBounded: nested variables and many arguments stay within the limits.
func TestVariablesAreBounded(t *testing.T) {
	env, args := `{name: V0, value: "0123456789"}`, strings.Repeat(`"$(V3)", `, 5000)
	for i := range 30 {
		env += fmt.Sprintf(`, {name: V%d, value: %q}`, i+1, strings.Repeat(fmt.Sprintf("$(V%d)", i), 10))
	}
	objects, err := workload.Parse("f.yaml", []byte(pod("env: ["+env+"], args: ["+args+"]")))
	must(t, err)
	if _, unread := workload.Likely(objects, "shop"); len(unread) != 1 || !strings.Contains(unread[0], "variables of containers") {
		t.Errorf("unread: %q", unread)
	}
}
