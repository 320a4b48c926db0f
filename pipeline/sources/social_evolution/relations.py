"""The relations that the surveys of Social Evolution ask about, by their names in the data."""

CLOSE_FRIEND, SOCIALIZE, POLITICAL, PHOTOS, BLOG = RELATIONS = (
    "CloseFriend",
    "SocializeTwicePerWeek",
    "PoliticalDiscussant",
    "FacebookAllTaggedPhotos",
    "BlogLivejournalTwitter",
)
