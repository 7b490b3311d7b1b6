// Flannel is the CNI meta-plugin that connects a pod to flannel's network. It reads this
// node's subnet from flanneld's file, and calls the bridge plugin with a complete
// configuration with host-local addresses. It saves that configuration, because DEL needs
// it also after flanneld's file is removed.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"github.com/containernetworking/cni/pkg/invoke"
	"github.com/containernetworking/cni/pkg/skel"
	"github.com/containernetworking/cni/pkg/types"
	"github.com/containernetworking/cni/pkg/version"
)

const (
	defaultSubnetFile = "/run/flannel/subnet.env"
	defaultDataDir    = "/var/lib/cni/flannel"
)

type config struct {
	types.NetConf
	SubnetFile string         `json:"subnetFile"`
	DataDir    string         `json:"dataDir"`
	Delegate   map[string]any `json:"delegate"`
}

func main() {
	skel.PluginMainFuncs(skel.CNIFuncs{Add: add, Check: check, Del: del}, version.All, "flannel CNI meta-plugin of the lab")
}

func parse(data []byte) (config, error) {
	c := config{SubnetFile: defaultSubnetFile, DataDir: defaultDataDir}
	if err := json.Unmarshal(data, &c); err != nil {
		return config{}, fmt.Errorf("parse network configuration: %w", err)
	}
	return c, nil
}

func (c config) saved(container string) string { return filepath.Join(c.DataDir, container) }

// delegate completes the configuration of the bridge plugin. The fields under "delegate" in
// the user's configuration override the fields from the subnet and the defaults.
func (c config) delegate() ([]byte, error) {
	s, err := readSubnet(c.SubnetFile)
	if err != nil {
		return nil, err
	}
	d := map[string]any{
		"type": "bridge", "isGateway": true, "ipMasq": !s.masquerade, "mtu": s.mtu,
		"ipam": map[string]any{
			"type":   "host-local",
			"ranges": [][]map[string]string{{{"subnet": s.subnet}}},
			"routes": []map[string]string{{"dst": s.network}},
		},
	}
	maps.Copy(d, c.Delegate)
	d["name"], d["cniVersion"] = c.Name, c.CNIVersion
	return json.Marshal(d)
}

func add(args *skel.CmdArgs) error {
	c, err := parse(args.StdinData)
	if err != nil {
		return err
	}
	conf, err := c.delegate()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(c.saved(args.ContainerID), conf, 0o600); err != nil {
		return err
	}
	result, err := invoke.DelegateAdd(context.Background(), "bridge", conf, nil)
	if err != nil {
		return err
	}
	return result.Print()
}

func check(args *skel.CmdArgs) error {
	c, err := parse(args.StdinData)
	if err != nil {
		return err
	}
	conf, err := os.ReadFile(c.saved(args.ContainerID))
	if err != nil {
		return err
	}
	return invoke.DelegateCheck(context.Background(), "bridge", conf, nil)
}

// del succeeds without a saved configuration, because the runtime repeats DEL.
func del(args *skel.CmdArgs) error {
	c, err := parse(args.StdinData)
	if err != nil {
		return err
	}
	conf, err := os.ReadFile(c.saved(args.ContainerID))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := invoke.DelegateDel(context.Background(), "bridge", conf, nil); err != nil {
		return err
	}
	return os.Remove(c.saved(args.ContainerID))
}
