//! The few messages of Perfetto's public trace format that are written, by hand as
//! `protos/perfetto/trace` of that project numbers them. A reader skips what it does not know, and
//! numbers never change their meaning.

/// A file: packets.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Trace {
    /// The packets.
    #[prost(message, repeated, tag = "1")]
    pub packet: Vec<TracePacket>,
}

/// One packet.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TracePacket {
    /// In ns.
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    /// Packets with the same number share interned names.
    #[prost(uint32, optional, tag = "10")]
    pub trusted_packet_sequence_id: Option<u32>,
    /// Names that later packets of the sequence refer to.
    #[prost(message, optional, tag = "12")]
    pub interned_data: Option<InternedData>,
    /// [`CLEARED`] and [`NEEDED`].
    #[prost(uint32, optional, tag = "13")]
    pub sequence_flags: Option<u32>,
    /// What it holds.
    #[prost(oneof = "Data", tags = "11, 60")]
    pub data: Option<Data>,
}

/// Names are told anew from here on.
pub const CLEARED: u32 = 1;
/// The packet refers to names.
pub const NEEDED: u32 = 2;

/// What a packet holds.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Data {
    /// Something on a track.
    #[prost(message, tag = "11")]
    TrackEvent(TrackEvent),
    /// A track.
    #[prost(message, tag = "60")]
    TrackDescriptor(TrackDescriptor),
}

/// A track.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TrackDescriptor {
    /// Its number in the file.
    #[prost(uint64, optional, tag = "1")]
    pub uuid: Option<u64>,
    /// The track that it belongs to.
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
    /// It is that of a process.
    #[prost(message, optional, tag = "3")]
    pub process: Option<ProcessDescriptor>,
    /// It is that of a thread.
    #[prost(message, optional, tag = "4")]
    pub thread: Option<ThreadDescriptor>,
}

/// A process.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ProcessDescriptor {
    /// Its number, not 0.
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    /// Its name.
    #[prost(string, optional, tag = "6")]
    pub process_name: Option<String>,
}

/// A thread.
#[derive(Clone, PartialEq, prost::Message)]
pub struct ThreadDescriptor {
    /// The number of its process.
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    /// Its number; the first thread has that of its process.
    #[prost(int32, optional, tag = "2")]
    pub tid: Option<i32>,
    /// Its name.
    #[prost(string, optional, tag = "5")]
    pub thread_name: Option<String>,
}

/// Something on a track.
#[derive(Clone, PartialEq, prost::Message)]
pub struct TrackEvent {
    /// Arguments.
    #[prost(message, repeated, tag = "4")]
    pub debug_annotations: Vec<DebugAnnotation>,
    /// One of the numbers below.
    #[prost(int32, optional, tag = "9")]
    pub r#type: Option<i32>,
    /// An interned name.
    #[prost(uint64, optional, tag = "10")]
    pub name_iid: Option<u64>,
    /// The track.
    #[prost(uint64, optional, tag = "11")]
    pub track_uuid: Option<u64>,
    /// A name that is not interned.
    #[prost(string, optional, tag = "23")]
    pub name: Option<String>,
    /// Flows that begin here or pass through.
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    pub flow_ids: Vec<u64>,
    /// Flows that end here.
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    pub terminating_flow_ids: Vec<u64>,
}

/// A slice begins.
pub const SLICE_BEGIN: i32 = 1;
/// The slice that began last ends.
pub const SLICE_END: i32 = 2;
/// Something without duration.
pub const INSTANT: i32 = 3;

/// An argument.
#[derive(Clone, PartialEq, prost::Message)]
pub struct DebugAnnotation {
    /// Its interned name.
    #[prost(uint64, optional, tag = "1")]
    pub name_iid: Option<u64>,
    /// Its value.
    #[prost(oneof = "Value", tags = "2, 3, 4, 6, 17")]
    pub value: Option<Value>,
}

/// An argument's value.
#[derive(Clone, PartialEq, prost::Oneof)]
pub enum Value {
    /// Yes or no.
    #[prost(bool, tag = "2")]
    Bool(bool),
    /// A count.
    #[prost(uint64, tag = "3")]
    Uint(u64),
    /// A number.
    #[prost(int64, tag = "4")]
    Int(i64),
    /// Text.
    #[prost(string, tag = "6")]
    Text(String),
    /// Interned text.
    #[prost(uint64, tag = "17")]
    TextIid(u64),
}

/// Names with their numbers, from 1.
#[derive(Clone, PartialEq, prost::Message)]
pub struct InternedData {
    /// Of events.
    #[prost(message, repeated, tag = "2")]
    pub event_names: Vec<Name>,
    /// Of arguments.
    #[prost(message, repeated, tag = "3")]
    pub debug_annotation_names: Vec<Name>,
    /// Texts of arguments.
    #[prost(message, repeated, tag = "29")]
    pub debug_annotation_string_values: Vec<Name>,
}

/// A name with its number.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Name {
    /// The number.
    #[prost(uint64, optional, tag = "1")]
    pub iid: Option<u64>,
    /// The name.
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
}
