package host

import (
	"errors"
	"io/fs"
	"reflect"
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
	taken, share := bare, bare
	taken.Driver = "vfio-pci"
	share.Virtual = true
	tests := map[string]struct {
		tree fstest.MapFS
		want []PCIDevice
	}{
		"no driver":        {oneCard(nil), []PCIDevice{bare}},
		"a driver":         {oneCard(fstest.MapFS{card + "uevent": {Data: []byte("DRIVER=vfio-pci\nPCI_CLASS=30200\n")}}), []PCIDevice{taken}},
		"a uevent without": {oneCard(fstest.MapFS{card + "uevent": {Data: []byte("PCI_CLASS=30200\n")}}), []PCIDevice{bare}},
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

func TestPCIDevicesNamesWhatItCannotRead(t *testing.T) {
	_, err := PCIDevices(oneCard(fstest.MapFS{card + "class": nil}), "10de")
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "0000:17:00.0") {
		t.Errorf("got %v", err)
	}
}
