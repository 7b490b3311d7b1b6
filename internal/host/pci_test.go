package host

import (
	"errors"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

const card = pciDir + "/0000:17:00.0/"

func oneCard(changes fstest.MapFS) fstest.MapFS {
	tree := fstest.MapFS{
		card + "vendor":                 {Data: []byte("0x10DE\n")},
		card + "device":                 {Data: []byte("0x2330\n")},
		card + "class":                  {Data: []byte("0x030200\n")},
		pciDir + "/0000:00:1f.0/vendor": {Data: []byte("0x8086\n")}, // and nothing else is read of it
	}
	for name, f := range changes {
		if tree[name] = f; f == nil {
			delete(tree, name)
		}
	}
	return tree
}

func TestPCIDevices(t *testing.T) {
	bare := PCIDevice{Address: "0000:17:00.0", Vendor: "10de", Device: "2330", Class: "030200"}
	taken, share, shared := bare, bare, bare
	taken.Driver = "vfio-pci"
	share.Virtual = true
	shared.VirtualFunctions = 16
	tests := map[string]struct {
		tree fstest.MapFS
		want []PCIDevice
	}{
		"no driver":        {oneCard(nil), []PCIDevice{bare}},
		"a driver":         {oneCard(fstest.MapFS{card + "uevent": {Data: []byte("DRIVER=vfio-pci\nPCI_CLASS=30200\n")}}), []PCIDevice{taken}},
		"a uevent without": {oneCard(fstest.MapFS{card + "uevent": {Data: []byte("PCI_CLASS=30200\n")}}), []PCIDevice{bare}},
		"shared out":       {oneCard(fstest.MapFS{card + "sriov_numvfs": {Data: []byte("16\n")}}), []PCIDevice{shared}},
		"could be shared":  {oneCard(fstest.MapFS{card + "sriov_numvfs": {Data: []byte("0\n")}, card + "sriov_totalvfs": {Data: []byte("16\n")}}), []PCIDevice{bare}},
		"virtual function": {oneCard(fstest.MapFS{card + "physfn/vendor": {Data: []byte("0x10de\n")}}), []PCIDevice{share}},
		"no bus":           {fstest.MapFS{}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := PCIDevices(test.tree, "10de")
			if err != nil || !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v, %v; want %+v", got, err, test.want)
			}
		})
	}
}

// The registers of cards as lspci -vv shows their regions, as lines of resource.
func TestPCIWindows(t *testing.T) {
	const (
		none = "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
		mib  = 1 << 20
		gib  = 1 << 30
	)
	tests := map[string]struct {
		resource string
		want     []int64
	}{
		"registers of 32 bits, memory of 64": {"0x00000000d2000000 0x00000000d2ffffff 0x0000000000040200\n" +
			"0x0000380000000000 0x00003800ffffffff 0x000000000014220c\n" + none +
			"0x0000380100000000 0x0000380101ffffff 0x000000000014220c\n" + none +
			"0x0000000000005000 0x000000000000507f 0x0000000000040101\n" + none, []int64{16 * mib, 4 * gib, 32 * mib, 128}},
		"all of 64 bits": {"0x0000380042000000 0x0000380042ffffff 0x000000000014220c\n" + none +
			"0x0000382000000000 0x0000383fffffffff 0x000000000014220c\n" + none +
			"0x0000380040000000 0x0000380041ffffff 0x000000000014220c\n" + none + none, []int64{16 * mib, 128 * gib, 32 * mib}},
		"marked without an address": {"0x00000000d2000000 0x00000000d2ffffff 0x0000000000040200\n" +
			"0x0000000000000000 0x00000000ffffffff 0x000000002014220c\n" + none, []int64{16 * mib, -1}},
		"given up": {"0x00000000d2000000 0x00000000d2ffffff 0x0000000000040200\n" + none + none, []int64{16 * mib, 0, 0}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := pciWindows(fstest.MapFS{"d/resource": {Data: []byte(test.resource)}}, "d")
			if err != nil || !slices.Equal(got, test.want) {
				t.Errorf("got %v, %v; want %v", got, err, test.want)
			}
		})
	}
}

func TestPCIDevicesNamesWhatItCannotRead(t *testing.T) {
	_, err := PCIDevices(oneCard(fstest.MapFS{card + "class": nil}), "10de")
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "0000:17:00.0") {
		t.Errorf("got %v", err)
	}
}
