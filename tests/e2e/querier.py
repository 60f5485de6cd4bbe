# SPDX-License-Identifier: Apache-2.0
"""
A client of querier.v1.QuerierService with protobuf's own library: the messages that Grafana's data source for Pyroscope uses,
with the numbers and types of the fields as Pyroscope publishes them (api/querier/v1/querier.proto, api/types/v1/types.proto).
"""

from google.protobuf import descriptor_pb2, descriptor_pool, json_format

try:
    from google.protobuf.message_factory import GetMessageClass as class_of
except ImportError:  # before 4.22
    from google.protobuf.message_factory import MessageFactory

    def class_of(descriptor):
        return MessageFactory().GetPrototype(descriptor)

TYPES = {"int64": 3, "double": 1, "string": 9, "bool": 8}

# Each message: its fields as "NUMBER NAME TYPE", with "*" behind the type of one that is repeated.
MESSAGES = {
    "LabelPair": ["1 name string", "2 value string"],
    "ProfileType": ["1 ID string", "2 name string", "4 sample_type string", "5 sample_unit string", "6 period_type string",
                    "7 period_unit string"],
    "Labels": ["1 labels LabelPair*"],
    "Point": ["1 value double", "2 timestamp int64"],
    "OneSeries": ["1 labels LabelPair*", "2 points Point*"],
    "Level": ["1 values int64*"],
    "FlameGraph": ["1 names string*", "2 levels Level*", "3 total int64", "4 max_self int64"],
    "ProfileTypesRequest": ["1 start int64", "2 end int64"],
    "ProfileTypesResponse": ["1 profile_types ProfileType*"],
    "LabelNamesRequest": ["1 matchers string*", "2 start int64", "3 end int64"],
    "LabelNamesResponse": ["1 names string*"],
    "LabelValuesRequest": ["1 name string", "2 matchers string*", "3 start int64", "4 end int64"],
    "LabelValuesResponse": ["1 names string*"],
    "SeriesRequest": ["1 matchers string*", "2 label_names string*", "3 start int64", "4 end int64"],
    "SeriesResponse": ["2 labels_set Labels*"],
    "SelectMergeStacktracesRequest": ["1 profile_typeID string", "2 label_selector string", "3 start int64", "4 end int64",
                                      "5 max_nodes int64", "6 format int64"],
    "SelectMergeStacktracesResponse": ["1 flamegraph FlameGraph"],
    "SelectSeriesRequest": ["1 profile_typeID string", "2 label_selector string", "3 start int64", "4 end int64",
                            "5 group_by string*", "6 step double", "7 aggregation int64", "9 limit int64"],
    "SelectSeriesResponse": ["1 series OneSeries*"],
    "GetProfileStatsRequest": [],
    "GetProfileStatsResponse": ["1 data_ingested bool", "2 oldest_profile_time int64", "3 newest_profile_time int64"],
}


def describe():
    file = descriptor_pb2.FileDescriptorProto(name="querier.proto", package="querier", syntax="proto3")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for line in fields:
            number, field, kind = line.split()
            one = message.field.add(name=field, number=int(number), label=3 if kind.endswith("*") else 1)
            kind = kind.rstrip("*")
            if kind in TYPES:
                one.type = TYPES[kind]
            else:
                one.type, one.type_name = 11, f".querier.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {name: class_of(pool.FindMessageTypeByName(f"querier.{name}")) for name in MESSAGES}


CLASSES = describe()


def exchange(request, method, is_json, **fields):
    """
    Calls a method; request(path, method, body, headers) is how, and returns status, headers and body. The answer's message, or
    (status, what Connect says of the failure) as text.
    """
    sent = CLASSES[f"{method}Request"](**fields)
    kind = "application/json" if is_json else "application/proto"
    body = json_format.MessageToJson(sent).encode() if is_json else sent.SerializeToString()
    status, headers, answer = request(f"/querier.v1.QuerierService/{method}", "POST", body,
                                      {"Content-Type": kind, "Connect-Protocol-Version": "1"})
    if status != 200:
        assert headers["Content-Type"] == "application/json"
        return status, answer.decode()
    assert headers["Content-Type"] == kind
    message = CLASSES[f"{method}Response"]()
    if is_json:
        json_format.Parse(answer, message)
    else:
        message.ParseFromString(answer)
    return message
